"""Removes from a bucket what retention took from the list, and what no snapshot needs, once a grace period is over.

Readers and uploads that began before have that long to end. See docs/decisions/buckets.md.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import datetime, timedelta

from pipeline.store.disk import DiskSize
from router.errors import SnapshotInvalid
from router.snapshot.store.bucket.head import (
    FILES,
    SNAPSHOTS,
    Head,
    file_object,
    manifest_object,
    reservation_object,
    signature_object,
)
from router.snapshot.store.bucket.remote import RemoteCatalog


def due(head: Head, now: datetime, grace: timedelta) -> list[str]:
    """Return the snapshots whose manifests are to be removed: taken from the list longer ago than the grace period.

    Those that somebody else has begun with are left to them, for as long.
    """
    limit = now - grace
    return [
        name
        for name, at in head.removed.items()
        if _time(at, now) <= limit
        and name not in head.named
        and (name not in head.going or _time(head.going[name], now) <= limit)
    ]


def remove_manifests(remote: RemoteCatalog, snapshots: list[str]) -> None:
    """Remove the manifests and signatures of snapshots that are `going`. Raises StoreUnavailable."""
    for name in snapshots:
        remote.objects.delete([manifest_object(name), signature_object(name)])
        remote.forget(name)


def sweep_files(remote: RemoteCatalog, head: Head, now: datetime, grace: timedelta) -> None:
    """Remove what no snapshot needs and is older than the grace period.

    `now` is the bucket's time. Raises StoreUnavailable, and SnapshotInvalid where it cannot be told what is needed:
    then no file is removed.
    """
    limit = now - grace
    known = head.named | (set(head.removed) - set(head.going))
    needed = _needed(remote, known)
    old = [name for name in _listed_before(remote, limit) if name not in needed]
    # A listing may show an object as it was: each is looked at itself.
    old = [name for name in old if (stored := remote.objects.stat(name)) is not None and stored.modified <= limit]
    if old:
        needed = _needed(remote, known)  # once more: by what was stored meanwhile
        remote.objects.delete(name for name in old if name not in needed)


def contents(remote: RemoteCatalog, names: set[str]) -> set[str]:
    """Return the sha256 of every file of these snapshots, of any format version.

    Raises SnapshotInvalid where a manifest does not tell them.
    """
    found: set[str] = set()
    for name in names:
        try:
            data = remote.manifest_bytes(name)
        except SnapshotInvalid:
            continue  # removed since it was listed
        try:
            found.update(map(str, json.loads(data)["files"].values()))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SnapshotInvalid(f"{remote.url}: the manifest of {name} does not list its files: {error}") from error
    return found


def _listed_before(remote: RemoteCatalog, limit: datetime) -> Iterator[str]:
    """Yield the names of files, reservations and signatures that are old by the listing, which may be late."""
    for prefix in (FILES, SNAPSHOTS):
        for stored in remote.objects.list(prefix):
            snapshot = stored.name.removeprefix(SNAPSHOTS).partition("/")[0]
            is_ours = prefix == FILES or stored.name in (reservation_object(snapshot), signature_object(snapshot))
            if is_ours and stored.modified <= limit:
                yield stored.name


def _needed(remote: RemoteCatalog, known: set[str]) -> set[str]:
    """Return the objects that the snapshots in the bucket need. `known` are names that a listing may lack yet."""
    names = remote.names(known)
    if lost := sorted(known - names):
        raise SnapshotInvalid(f"{remote.url} has lost the manifest of {', '.join(lost)}: no file was removed")
    return {*map(file_object, contents(remote, names)), *map(signature_object, names)}


def _time(text: str, now: datetime) -> datetime:
    """Return a time that CURRENT holds; one that cannot be read counts as now, so that nothing goes too early."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return now
    return time if time.tzinfo else now


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
