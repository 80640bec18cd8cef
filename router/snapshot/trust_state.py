"""The newest snapshot of each catalog that a router has served, kept in a small file over restarts."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import msgspec

from router.errors import SettingsInvalid, SnapshotUntrusted
from router.files import read_bounded
from router.signing.statement import Statement
from router.snapshot.store.durable import replace_text
from router.snapshot.store.locking import lock_file

_MOST_BYTES = 1 << 20


class TrustState:
    """The newest statements by catalog, in a file that several routers of one machine may share."""

    def __init__(self, path: Path) -> None:
        """Read the file once, so that one that cannot be read is told at the start. Raises SettingsInvalid."""
        self._path = path
        try:
            self._read()
        except SnapshotUntrusted as error:
            raise SettingsInvalid(str(error)) from error

    def newest(self, catalog: str) -> Statement | None:
        """Return a catalog's newest statement that was served. Raises SnapshotUntrusted where it cannot be read."""
        return self._read().get(catalog)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other routers from writing inside the block. Raises SnapshotUntrusted where that cannot be."""
        try:
            with lock_file(self._path.with_name(f".{self._path.name}.lock")):
                yield
        except OSError as error:
            raise SnapshotUntrusted(
                f"the trust state {self._path} cannot be written: {error}. Its folder must be writable"
            ) from error

    def write(self, statement: Statement) -> None:
        """Remember a statement as its catalog's newest. The caller holds `locked`."""
        known = self._read() | {statement.catalog: statement}
        rows = {catalog: asdict(newest) for catalog, newest in sorted(known.items())}
        replace_text(self._path, json.dumps(rows, indent=2) + "\n")

    def _read(self) -> dict[str, Statement]:
        try:
            return msgspec.json.decode(read_bounded(self._path, _MOST_BYTES), type=dict[str, Statement])
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise SnapshotUntrusted(
                f"the trust state {self._path} cannot be read: {error}. Restore it; without it a router takes any "
                "signed snapshot as its first, however old"
            ) from error
