"""A snapshot from a bucket into a cache: only the files that the cache lacks, each verified, in one step at the end."""

import errno
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from router.contract import MANIFEST, SIGNATURE, Manifest
from router.errors import SnapshotInvalid
from router.fingerprint import file_sha256
from router.snapshot.store.bucket.cache import Cache
from router.snapshot.store.bucket.daemons import run_jobs, stoppable
from router.snapshot.store.bucket.downloading import download
from router.snapshot.store.bucket.head import file_object
from router.snapshot.store.bucket.objects import Objects
from router.snapshot.store.bucket.remote import RemoteCatalog
from router.snapshot.store.durable import make_read_only, sync, sync_tree
from router.snapshot.store.protocol import Admit

_THREADS = 6
_TRIES = 3
_SPARE_BYTES = 64 << 20  # of the disk, that a pull leaves free
# An older manifest has no sizes, and a bucket may be anybody's: the most that a snapshot of so many tools may take.
_MOST_BYTES, _MOST_BYTES_A_TOOL = 8 << 30, 1 << 20


@dataclass(frozen=True, slots=True)
class Pulled:
    """What a pull did: files and bytes that came from the bucket, and files that the cache had."""

    snapshot: str
    fetched: int
    reused: int
    bytes: int


Report = Callable[[int, int], object]
"""Called with the bytes that have come, and those that come in all. It may be called from any thread."""


def pull(
    catalog: RemoteCatalog,
    cache: Cache,
    name: str,
    stop: threading.Event,
    admit: Admit | None = None,
    report: Report = lambda done, total: None,
) -> Pulled:
    """Bring a snapshot into the cache, in the place of a damaged one of its name. The caller holds `cache.locked`.

    What a killed pull has left is used. `admit` is called with the folder of the signature, the manifest's bytes and
    the manifest before any file is fetched. Raises SnapshotInvalid where the bucket's snapshot is missing, damaged or
    too large, what `admit` raises, Stopped, and OSError where the bucket or the disk fails.
    """
    data, manifest = stoppable(partial(_manifest, catalog, name), stop)
    try:
        return _pull(catalog, cache, data, manifest, stop, admit, report)
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        shutil.rmtree(cache.pulling, ignore_errors=True)
        raise SnapshotInvalid(
            f"{cache.folder} has no room for {name} of {catalog.url}: {error}. Free some, or name a cache elsewhere"
        ) from error


def _manifest(catalog: RemoteCatalog, name: str) -> tuple[bytes, Manifest]:
    """Return a snapshot's manifest as it is in the bucket. One that was damaged on the way is read again."""
    for left in reversed(range(_TRIES)):
        data = catalog.manifest_bytes(name)
        try:
            manifest = catalog.manifest(name)
            break
        except SnapshotInvalid:
            if not left:
                raise
        finally:
            catalog.forget(name)  # it is in the cache soon
    if manifest.snapshot != name:
        raise SnapshotInvalid(f"{catalog.url} has the manifest of {manifest.snapshot!r:.100} in the place of {name}'s")
    if own := sorted({MANIFEST, SIGNATURE} & set(manifest.files)):
        raise SnapshotInvalid(
            f"{catalog.url}: the manifest of {name} lists {own[0]}, which cannot be a file of a snapshot"
        )
    return data, manifest


def _pull(
    catalog: RemoteCatalog,
    cache: Cache,
    data: bytes,
    manifest: Manifest,
    stop: threading.Event,
    admit: Admit | None,
    report: Report,
) -> Pulled:
    name, staged = manifest.snapshot, cache.pulling / manifest.snapshot
    shutil.rmtree(staged, ignore_errors=True)  # its files are in `cache.pulling` by their content
    staged.mkdir(parents=True)
    if signature := stoppable(partial(catalog.signature, name), stop):
        (staged / SIGNATURE).write_bytes(signature)
    if admit is not None:
        admit(staged, data, manifest)
    wanted = set(manifest.files.values())
    missing = sorted(wanted - take_known(cache, name, manifest.files))
    moved = _fetch(catalog.objects, cache, missing, manifest, stop, report)
    for path, sha256 in manifest.files.items():
        (staged / path).parent.mkdir(parents=True, exist_ok=True)
        link_or_copy(cache.pulling / sha256, staged / path)
    for sha256 in wanted:
        (cache.pulling / sha256).unlink()
    (staged / MANIFEST).write_bytes(data)
    make_read_only(staged)
    sync_tree(staged)
    if os.path.lexists(cache.folder / name):
        cache.remove(cache.folder / name)
    staged.rename(cache.folder / name)
    sync(cache.folder)
    shutil.rmtree(cache.pulling, ignore_errors=True)
    return Pulled(name, len(missing), len(wanted) - len(missing), moved)


def _fetch(
    objects: Objects, cache: Cache, missing: list[str], manifest: Manifest, stop: threading.Event, report: Report
) -> int:
    """Bring files from the bucket into `cache.pulling`; return the sum of their sizes in bytes."""
    sizes: dict[str, int] = {}

    def look(sha256: str, _: threading.Event) -> None:
        stored = objects.stat(file_object(sha256))
        if stored is None:
            raise SnapshotInvalid(f"{objects.url} lacks {file_object(sha256)}, a file of {manifest.snapshot}")
        if stored.size != (told := manifest.sizes.get(sha256, stored.size)):
            raise SnapshotInvalid(
                f"{objects.url}/{file_object(sha256)} is not what its name says: it has {stored.size:,} bytes, and the "
                f"manifest of {manifest.snapshot} says {told:,}; push the snapshot with --resend"
            )
        sizes[sha256] = stored.size

    run_jobs([partial(look, sha256) for sha256 in missing], _THREADS, stop)
    total = sum(sizes.values())
    _require_room(cache, manifest, total)
    done, adding = 0, threading.Lock()

    def advance(count: int) -> None:
        nonlocal done
        with adding:
            done += count
            report(done, total)

    def bring(sha256: str, halt: threading.Event) -> None:
        try:
            download(objects, sha256, sizes[sha256], cache.pulling / sha256, halt, advance)
        except FileNotFoundError as error:
            raise SnapshotInvalid(f"{error}: {manifest.snapshot} was removed meanwhile") from error

    report(0, total)
    largest_first = sorted(missing, key=lambda sha256: (-sizes[sha256], sha256))
    run_jobs([partial(bring, sha256) for sha256 in largest_first], _THREADS, stop)
    return total


def _require_room(cache: Cache, manifest: Manifest, total: int) -> None:
    """Raise SnapshotInvalid where a bucket sends more than the snapshot can take, or the disk has no room for it."""
    most = _MOST_BYTES + _MOST_BYTES_A_TOOL * manifest.counts.get("tools", 0)
    if total > most:
        raise SnapshotInvalid(
            f"{manifest.snapshot} has {total:,} bytes in the bucket, and a snapshot of "
            f"{manifest.counts.get('tools', 0):,} tools has at most {most:,}: nothing was fetched"
        )
    there = sum(path.stat().st_size for path in cache.pulling.glob("*.part"))
    needed, free = total - min(there, total) + _SPARE_BYTES, shutil.disk_usage(cache.folder).free
    if needed > free:
        raise OSError(errno.ENOSPC, f"{needed:,} bytes are needed and {free:,} are free", str(cache.folder))


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
