"""The files of a snapshot, each opened once: what is hashed is what is read.

Tantivy, ONNX Runtime, faiss and numpy open files by their paths, and a path may lead to another file a moment after it
was hashed. So each file is opened, hashed by its descriptor, and handed on as a link to that descriptor, in a private
folder of the snapshot's layout. A file that the manifest does not list has no link there: no library can read it.
See docs/decisions/signatures.md.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from router.errors import SnapshotInvalid
from router.files import open_in, remove_links
from router.snapshot.hashing import hash_opened

_DESCRIPTORS = Path("/proc/self/fd")  # a link there opens the same file again, wherever its path leads by now


@contextmanager
def open_files(
    folder: Path,
    files: Mapping[str, str],
    *,
    renamed: Mapping[str, str] | None = None,
    check: bool = True,
    threads: int = 0,
    meanwhile: Callable[[], object] = lambda: None,
) -> Iterator[Path]:
    """Open files of a snapshot by name, and give a folder that leads to them and to nothing else.

    `renamed` maps names to those that the given folder has in their place. With `check` each file is compared with its
    sha256 before the block is entered, by `threads` threads beside the caller's.
    `meanwhile` runs beside them: it must not read the files. Raises SnapshotInvalid for a file that is missing, is no
    regular file, lies outside the folder, differs from its checksum, or is changed until the block ends; what the block
    raises of that kind names the snapshot's folder. Without /proc, files are opened by their paths, and compared
    afterwards.
    """
    by_descriptor = _DESCRIPTORS.is_dir()
    with ExitStack() as stack:
        opened: dict[str, tuple[int, os.stat_result]] = {}
        for name in files:
            descriptor = _open(folder, name)
            stack.callback(os.close, descriptor)
            opened[name] = descriptor, os.fstat(descriptor)
        if check:
            _compare(folder, {name: descriptor for name, (descriptor, _) in opened.items()}, files, threads, meanwhile)
        else:
            meanwhile()
        links = Path(tempfile.mkdtemp(prefix="quartermaster-"))
        stack.callback(remove_links, links)
        for name, (descriptor, _) in opened.items():
            link = links / (renamed or {}).get(name, name)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(_DESCRIPTORS / str(descriptor) if by_descriptor else (folder / name).resolve())
        try:
            yield links
        except SnapshotInvalid as error:
            raise SnapshotInvalid(str(error).replace(str(links), str(folder))) from error.__cause__
        for name, (descriptor, before) in opened.items():
            if not _is_same(os.fstat(descriptor), before) or not (by_descriptor or _leads_to(folder / name, before)):
                raise SnapshotInvalid(f"{folder / name} was changed while it was opened; try again")


def verify(folder: Path, name: str, expected: str) -> None:
    """Compare one file of a snapshot with its sha256. Raises SnapshotInvalid as `open_files` does."""
    descriptor = _open(folder, name)
    try:
        _compare(folder, {name: descriptor}, {name: expected}, 0, lambda: None)
    finally:
        os.close(descriptor)


def _open(folder: Path, name: str) -> int:
    try:
        return open_in(folder, name)
    except (OSError, ValueError) as error:
        raise SnapshotInvalid(f"{folder / name} cannot be read: {error}") from error


def _compare(
    folder: Path,
    descriptors: Mapping[str, int],
    files: Mapping[str, str],
    threads: int,
    meanwhile: Callable[[], object],
) -> None:
    """Raise SnapshotInvalid for the first file that cannot be read, or differs from its checksum."""
    hashed = hash_opened([*descriptors.values()], threads, meanwhile)
    for name, descriptor in descriptors.items():
        result = hashed.get(descriptor)
        if isinstance(result, OSError):
            raise SnapshotInvalid(f"{folder / name} cannot be read: {result}") from result
        if result != files[name]:
            raise SnapshotInvalid(
                f"{folder / name} is corrupt: its checksum is not the one in the manifest; roll back or rebuild"
            )


def _is_same(one: os.stat_result, other: os.stat_result) -> bool:
    names = ("st_dev", "st_ino", "st_size", "st_mtime_ns")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def _leads_to(path: Path, status: os.stat_result) -> bool:
    try:
        return _is_same(path.stat(), status)
    except OSError:
        return False
