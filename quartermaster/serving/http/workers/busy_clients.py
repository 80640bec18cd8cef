"""Until when each client is busy, in a file that all workers map: a rate limit holds whichever worker answers."""

import mmap
import os
import struct
from hashlib import blake2b
from pathlib import Path

from quartermaster.serving.http.workers.allocation import allocate

_SETS, _WAYS = 16_384, 8  # 131,072 clients in 2 MiB
_SET = struct.Struct("=" + "Qd" * _WAYS)
_ENTRY = struct.Struct("=Qd")
_SIZE = _SETS * _SET.size


class SharedBusyClients:
    """The `BusyClients` of several processes, in a table of fixed size.

    A client may stand in eight places. Where all are taken, the one that is free soonest is forgotten. There is no
    lock, so no worker that was stopped or killed holds up another: two workers that answer the same client within the
    same few microseconds may count one request for both.
    """

    def __init__(self, file: Path, kind: str, key: bytes) -> None:
        """Map the file, which `make` made. `kind` keeps clients apart from tokens of the same name.

        `key` is the server's secret: nobody can choose an address that takes another's place.
        """
        with file.open("r+b") as stream:
            self._table = mmap.mmap(stream.fileno(), _SIZE)
        self._kind, self._key = kind.encode(), key

    @staticmethod
    def make(file: Path) -> None:
        """Make a file in which no client is busy. Raises OSError where there is no room for it."""
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            allocate(descriptor, _SIZE)
        finally:
            os.close(descriptor)

    def get(self, client: str) -> float | None:
        """Return until when a client is busy; None for one that is not known."""
        digest, begin = self._place(client)
        entries = _SET.unpack_from(self._table, begin)
        for way in range(_WAYS):
            if entries[2 * way] == digest:
                return float(entries[2 * way + 1])
        return None

    def set(self, client: str, until: float) -> None:
        """Remember until when a client is busy."""
        digest, begin = self._place(client)
        entries = _SET.unpack_from(self._table, begin)
        way = next((way for way in range(_WAYS) if entries[2 * way] == digest), None)
        if way is None:
            way = min(range(_WAYS), key=lambda candidate: entries[2 * candidate + 1])
        _ENTRY.pack_into(self._table, begin + way * _ENTRY.size, digest, until)

    def _place(self, client: str) -> tuple[int, int]:
        """Return the digest of a client, never 0, and the offset of its set."""
        hashed = blake2b(client.encode("utf-8", "replace"), digest_size=8, key=self._key, person=self._kind).digest()
        digest = int.from_bytes(hashed, "little") or 1
        return digest, (digest % _SETS) * _SET.size
