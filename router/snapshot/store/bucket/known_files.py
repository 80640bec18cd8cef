"""The files of a snapshot that a cache has already, in other snapshots or left by a pull that was killed."""

import errno
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from router.fingerprint import file_sha256
from router.snapshot.store.bucket.cache import Cache

DISK_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))


def take_known(cache: Cache, name: str, files: Mapping[str, str]) -> set[str]:
    """Link the files of a snapshot that are in the cache into `cache.pulling`, and return their sha256.

    Each is read and hashed there, under its new name, before it counts.
    """
    known: set[str] = set()
    wanted = set(files.values())
    for sha256, source in _sources(cache, name, files):
        if sha256 not in wanted or sha256 in known or source.is_symlink():
            continue
        target = cache.pulling / sha256
        try:
            if source != target:
                target.unlink(missing_ok=True)
                link_or_copy(source, target)
            if file_sha256(target) == sha256:
                known.add(sha256)
                continue
        except OSError as error:  # of a damaged snapshot, or a damaged disk
            if error.errno in DISK_FULL:
                raise
        target.unlink(missing_ok=True)
    return known


def _sources(cache: Cache, name: str, files: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Yield the sha256 and the paths of files that may have that content."""
    for path in cache.pulling.iterdir():
        if path.is_file() and not path.is_symlink():
            yield path.name, path
    for folder, manifest in cache.manifests():
        yield from ((sha256, folder / path) for path, sha256 in manifest.files.items())
    yield from ((sha256, cache.folder / name / path) for path, sha256 in files.items())


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file another name: by a link, or where that fails as a copy."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:  # no links here, or too many of this file
        shutil.copyfile(source, target)
