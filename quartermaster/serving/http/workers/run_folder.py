"""The folder that the processes of one server share while it runs: counts of metrics, states, limits.

Everybody who uses it holds a lock of it, which a killed process frees. So the last one removes it, a server that starts
removes those that nobody uses any more, and systemd, which cleans temporary folders, leaves it alone.
"""

import fcntl
import os
import secrets
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import msgspec

from quartermaster.serving.http.serving_state import ServingState
from quartermaster.serving.http.workers.busy_clients import SharedBusyClients
from router.errors import SettingsInvalid
from router.snapshot.store.locking import hold_folder

_PREFIX = "quartermaster-workers-"
_SECRET_BYTES = 32


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """What the supervisor knows of all workers.

    Attributes:
        wanted: How many workers there should be.
        restarts: How many were replaced, by cause.
        states: The latest state of each that serves, by the number of its place.
    """

    wanted: int
    restarts: dict[str, int]
    states: dict[int, ServingState]


_DECODER = msgspec.json.Decoder(Fleet)


class RunFolder:
    """One server's folder, held by this process until `leave`."""

    def __init__(self, folder: Path) -> None:
        """Hold a folder that `make` made."""
        self.folder = folder
        self.metrics = folder / "metrics"
        self._busy_file = folder / "busy"
        self._fleet_file = folder / "fleet.json"
        self._secret_file = folder / "secret"
        self._held = hold_folder(folder)

    @classmethod
    def make(cls) -> "RunFolder":
        """Make the folder of a server that starts, which only this user may read, and remove those of dead ones.

        Raises SettingsInvalid where the disk is full.
        """
        _remove_unused(Path(tempfile.gettempdir()))
        folder = cls(Path(tempfile.mkdtemp(prefix=_PREFIX)))
        while folder._held is None:  # another server that starts took it for one that nobody uses
            folder = cls(Path(tempfile.mkdtemp(prefix=_PREFIX)))
        try:
            folder.metrics.mkdir()
            folder._secret_file.write_bytes(secrets.token_bytes(_SECRET_BYTES))
            SharedBusyClients.make(folder._busy_file)
        except OSError as error:
            folder.leave()
            raise SettingsInvalid(
                f"{folder.folder} has no room for what the workers share: {error.strerror}; set TMPDIR to another"
            ) from error
        return folder

    def busy_clients(self, kind: str) -> SharedBusyClients:
        """Return until when clients of a kind are busy, as all workers have counted."""
        return SharedBusyClients(self._busy_file, kind, self._secret_file.read_bytes())

    def tell(self, fleet: Fleet) -> None:
        """Write what is known of all workers, in one step."""
        temporary = self._fleet_file.with_suffix(".new")
        temporary.write_bytes(msgspec.json.encode(fleet))
        temporary.replace(self._fleet_file)

    def fleet(self) -> Fleet:
        """Return what the supervisor wrote last. Raises OSError."""
        return _DECODER.decode(self._fleet_file.read_bytes())

    def leave(self) -> None:
        """Let go of the folder, and remove it where nobody else holds it."""
        if self._held is not None:
            os.close(self._held)
            self._held = None
        _remove_if_unused(self.folder)


def _remove_unused(place: Path) -> None:
    for folder in place.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # somebody else's, or removed meanwhile
            if folder.lstat().st_uid == os.getuid() and not folder.is_symlink():
                _remove_if_unused(folder)


def _remove_if_unused(folder: Path) -> None:
    with suppress(OSError):  # somebody holds it, or its file system has no locks and nobody can know
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(descriptor)
