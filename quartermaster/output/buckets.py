"""Pushes a snapshot into a bucket, and pulls one out of it, for a person: progress, and the outcome."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.store import SnapshotStore, catalogs
from pipeline.store.bucket.store import BucketStore, push
from pipeline.store.deltas.databases import open_whole
from quartermaster.output.terminal import ProgressBars, print_err, print_json, print_out
from router.contract import Manifest
from router.errors import SnapshotInvalid
from router.snapshot.store.bucket.cache import origin_of
from router.snapshot.store.bucket.pulling import Pulled
from router.snapshot.store.bucket.reader import BucketReader
from router.snapshot.store.bucket.url import checked_url
from router.snapshot.trust import Trust, open_trusted
from router.store import current_folder, open_store

_MB = 1_000_000


def push_and_show(workspace: Path, source: str, to: str, *, resend: bool, as_json: bool) -> bool:
    """Push a snapshot and say how that ended; return whether it serves. Raises as `push` does."""
    url = checked_url(to)
    names = catalogs(workspace)
    if source not in names and not Path(source).is_dir():
        about = f"which has {', '.join(names) or 'none'}"
        raise SnapshotInvalid(f"{source!r} is neither a folder nor a catalog of the workspace {workspace}, {about}")
    folder = current_folder(open_store(SnapshotStore(workspace, source).folder if source in names else Path(source)))
    name = Manifest.read(folder).snapshot
    with ProgressBars() as bars, _cache_of(folder, url) as cache:
        reasons = push(BucketStore(url, cache, progress=bars), folder, again=resend)
    if as_json:
        print_json({"snapshot": name, "url": url, "serves": not reasons, "reasons": reasons})
    elif reasons:
        print_err(f"{url} has {name}, which does not serve: {'; '.join(reasons)}")
    else:
        print_err(f"{url} now serves {name}")
    return not reasons


@contextmanager
def _cache_of(folder: Path, url: str) -> Iterator[Path]:
    """Give the catalog's folder where it is the cache of that bucket: it then says what the bucket says."""
    if origin_of(folder.parent) == url:
        yield folder.parent
        return
    with TemporaryDirectory(prefix="quartermaster-push-") as temporary:
        yield Path(temporary) / "snapshots" / folder.parent.name


def pull_and_show(
    url: str, folder: Path, trusted_keys: list[str] | None, state: Path | None, *, is_cache: bool, as_json: bool
) -> bool:
    """Pull into a catalog's folder, let it serve there, and say so; return whether it serves.

    Raises StoreUnavailable where the bucket does not answer, and SnapshotInvalid.
    """
    store = BucketReader(url, folder)
    trust = Trust.of(store, trusted_keys, None, state)
    if trust is not None:
        store.admit(trust.admit)
    with ProgressBars() as bars:
        bars.start("fetch")
        name, pulled = _pull_current(store, bars)
        pulled = _verify(store, name, trust, bars) or pulled
    pin = _serve(store, name, is_cache=is_cache)
    store.close()
    if as_json:
        facts = {"snapshot": name, "folder": str(folder / name), "fetched_files": pulled.fetched if pulled else 0}
        facts |= {"fetched_bytes": pulled.bytes if pulled else 0, "reused_files": pulled.reused if pulled else 0}
        print_json({**facts, "serves": pin is None})
        return pin is None
    fetched = f"{pulled.fetched} files, {pulled.bytes:,} bytes" if pulled else "nothing new"
    reused = f"; {pulled.reused} files were here" if pulled else ""
    print_out(f"fetched {name} of {store.label}: {fetched}{reused}")
    if pin is not None:
        print_err(f"{pin} is pinned here and goes on serving")
    print_out(str(folder / name))
    return pin is None


def _pull_current(store: BucketReader, bars: ProgressBars) -> tuple[str, Pulled | None]:
    """Pull what is current; where that is removed meanwhile, what has taken its place."""
    name = store.current()
    while name is not None:
        try:
            return name, _pull(store, name, bars)
        except SnapshotInvalid:
            if (now := store.current()) == name:
                raise
            name = now
    raise SnapshotInvalid(f"{store.label} serves no snapshot: none was published")


def _verify(store: BucketReader, name: str, trust: Trust | None, bars: ProgressBars) -> Pulled | None:
    """Verify every file, and fetch anew what is damaged; return what that fetched."""
    folder = store.local_folder(name)
    try:
        _open(folder, trust)
    except SnapshotInvalid:
        if store.has_just_fetched(name):
            raise
        pulled = _pull(store, name, bars, anew=True)
        _open(folder, trust)
        return pulled
    return None


def _pull(store: BucketReader, name: str, bars: ProgressBars, *, anew: bool = False) -> Pulled | None:
    return store.pull(name, lambda done, total: bars.reach(done // _MB, total // _MB), anew=anew)


def _open(folder: Path, trust: Trust | None) -> None:
    if trust is not None:
        open_trusted(folder, trust)
    else:
        open_whole(folder)


def _serve(store: BucketReader, name: str, *, is_cache: bool) -> str | None:
    """Let a snapshot serve in its folder; return the one that is pinned there instead."""
    if is_cache:
        store.serves(name)
    elif not store.mirror():
        pin = store.cache.store.state().pin
        if pin is not None and pin.snapshot != name:
            return pin.snapshot
        store.cache.remember(name, store.signed_pointer())
    return None
