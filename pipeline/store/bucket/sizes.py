"""The bytes that snapshots take in a bucket."""

from collections import Counter
from collections.abc import Collection
from contextlib import suppress

from pipeline.store.bucket.sweeping import contents
from pipeline.store.disk import DiskSize
from router.errors import SnapshotInvalid
from router.snapshot.store.bucket.layout import FILES
from router.snapshot.store.bucket.remote import RemoteCatalog


def sizes(remote: RemoteCatalog, names: Collection[str]) -> dict[str, DiskSize]:
    """Return the bytes of each snapshot's files: those that it alone has, and those that others have too.

    A snapshot whose manifest cannot be read has none.
    """
    size = {stored.name.removeprefix(FILES): stored.size for stored in remote.objects.list(FILES)}
    files: dict[str, set[str]] = {}
    for name in names:
        with suppress(SnapshotInvalid):
            files[name] = contents(remote, {name})
    users = Counter(sha256 for needed in files.values() for sha256 in needed)
    return {
        name: DiskSize(
            sum(size.get(sha256, 0) for sha256 in needed if users[sha256] == 1),
            sum(size.get(sha256, 0) for sha256 in needed if users[sha256] > 1),
        )
        for name, needed in files.items()
    }
