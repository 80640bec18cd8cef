"""The checksums of a model's files, each computed once for a file: every start would read hundreds of megabytes."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from pipeline.encoders.export.cache import cache_folder
from router.fingerprint import file_sha256

_MEMORY = "checksums.json"
_LARGE = 1 << 20
# Size, times of content and of status, inode, sha256. No program can set the time of the status.
_Known = tuple[int, int, int, int, str]


def checksums_of(files: Iterable[Path]) -> dict[Path, str]:
    """Return the sha256 of files; of a large one that has not changed since, the one of an earlier call.

    Raises OSError where a file cannot be read.
    """
    memory = cache_folder() / _MEMORY
    known, new, found = _read(memory), dict[str, _Known](), dict[Path, str]()
    for path in files:
        status = path.stat()
        state = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        name, before = str(path.absolute()), known.get(str(path.absolute()))
        found[path] = before[4] if before and before[:4] == state else file_sha256(path)
        if status.st_size >= _LARGE and (before is None or before[:4] != state):
            new[name] = (*state, found[path])
    if new:
        _write(memory, {**{name: row for name, row in known.items() if os.path.exists(name)}, **new})
    return found


def _read(memory: Path) -> dict[str, _Known]:
    with suppress(OSError, msgspec.MsgspecError):  # without it, or where it is damaged, all are computed
        return msgspec.json.decode(memory.read_bytes(), type=dict[str, _Known])
    return {}


def _write(memory: Path, rows: dict[str, _Known]) -> None:
    with suppress(OSError):  # a cache that cannot be written: the next start computes them again
        memory.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=memory.parent) as folder:
            staged = Path(folder, memory.name)
            staged.write_bytes(msgspec.json.encode(rows))
            os.replace(staged, memory)
