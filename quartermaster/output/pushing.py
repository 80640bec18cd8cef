"""A push into a bucket, told on a terminal."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.store import SnapshotStore, catalogs
from pipeline.store.bucket.pushing import push
from pipeline.store.bucket.store import BucketStore
from quartermaster.output.terminal import ProgressBars, err, plain_text
from router.contract import Manifest
from router.errors import SnapshotInvalid
from router.snapshot.store.bucket.cache import origin_of
from router.snapshot.store.bucket.url import checked_url
from router.store import current_folder, open_store


def push_and_tell(workspace: Path, source: str, to: str, *, resend: bool, as_json: bool) -> bool:
    """Push a snapshot and say how that ended; return whether it serves. Raises as `push` does."""
    url = checked_url(to)
    folder = _folder_of(workspace, source)
    name = Manifest.read(folder).snapshot
    with ProgressBars() as bars, _cache_of(folder, url) as cache:
        reasons = push(BucketStore(url, cache, progress=bars), folder, again=resend)
    if as_json:
        print(json.dumps({"snapshot": name, "url": url, "serves": not reasons, "reasons": reasons}, ensure_ascii=False))
    elif reasons:
        err.print(plain_text(f"{url} has {name}, which does not serve: {'; '.join(reasons)}"), soft_wrap=True)
    else:
        err.print(plain_text(f"{url} now serves {name}"), soft_wrap=True)
    return not reasons


def _folder_of(workspace: Path, source: str) -> Path:
    """Return the folder of the snapshot to push. Raises SnapshotInvalid where there is none."""
    names = catalogs(workspace)
    if source in names:
        return current_folder(open_store(SnapshotStore(workspace, source).folder))
    if Path(source).is_dir():
        return current_folder(open_store(Path(source)))
    known = ", ".join(names) or "none"
    raise SnapshotInvalid(f"{source!r} is no folder, and no catalog of the workspace {workspace}, which has {known}")


@contextmanager
def _cache_of(folder: Path, url: str) -> Iterator[Path]:
    """Give the catalog's folder where it is the cache of that bucket: it then says what the bucket says."""
    if origin_of(folder.parent) == url:
        yield folder.parent
        return
    with TemporaryDirectory(prefix="quartermaster-push-") as temporary:
        yield Path(temporary) / "snapshots" / folder.parent.name
