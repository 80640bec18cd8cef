"""`BucketStore`: the snapshots of a catalog in a bucket, with a folder of this machine as its cache."""

import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pipeline.progress import Progress, SilentProgress
from pipeline.store.bucket.cached_catalog import CachedCatalog
from pipeline.store.bucket.sweeping import due, remove_manifests, sweep_files
from pipeline.store.bucket.uploading import SnapshotUpload, add_signatures, megabytes_told, relied_on
from pipeline.store.deltas.databases import open_whole
from pipeline.store.protocol import retried
from pipeline.store.publication import publish_build
from pipeline.store.serviceable import find_current, removable
from router.contract import SIGNATURE, Manifest
from router.errors import SettingsInvalid, SnapshotInvalid
from router.files import read_in
from router.signing.envelope import MOST_BYTES as MOST_SIGNATURE_BYTES
from router.snapshot.store.bucket.cache import mark, mirror
from router.snapshot.store.bucket.head import CLOCK, Head, manifest_object, reservation_object
from router.snapshot.store.protocol import StoreUnavailable
from router.snapshot.store.state import StoreState

GRACE = timedelta(days=1)


class BucketStore(CachedCatalog):
    """The store at an address such as s3://bucket/catalogs/demo. It is a `PointerStore` and a `SharedStore`.

    What is written here lies in the cache first, and what is read is fetched into it. Any number of machines may write:
    each change of what serves is one conditional write of the object CURRENT. Methods raise StoreUnavailable where the
    bucket does not answer.
    """

    def __init__(
        self,
        url: str,
        cache: Path,
        *,
        grace: timedelta = GRACE,
        progress: Progress | None = None,
        patience_s: float = 60.0,
    ) -> None:
        """Connect to nothing yet.

        Args:
            url: The catalog's address.
            cache: A folder of this machine, laid out as a catalog's. It may be one already.
            grace: How long what retention removes, and what no snapshot needs, stays in the bucket.
            progress: Is told of uploads.
            patience_s: How long a request that fails is tried again, in seconds.

        Raises:
            SettingsInvalid: The address is wrong, or obstore is not installed.
        """
        super().__init__(url, cache, patience_s)
        self._grace = grace
        self._progress = progress or SilentProgress()
        self._base: str | None = None

    @property
    def base(self) -> str | None:
        """Return the snapshot that was current when the build began; its own once it has published."""
        return self._base

    def store_signature(self, name: str) -> None:
        """Add the signatures in a snapshot's folder to those in the bucket."""
        data, _ = read_in(self.cache.folder / name, SIGNATURE, MOST_SIGNATURE_BYTES)
        add_signatures(self.objects, name, data)

    def begin_build(self, *, writes: bool = True) -> None:
        """Note what is current. Raises StoreUnavailable, also where `writes` and the bucket cannot be written to."""
        if writes:
            self._now()
        mark(self.cache, self.label)
        head = self._transactions.head()
        self._base = head.snapshot
        mirror(self.cache, head)

    @contextmanager
    def staging(self, content_hash: str) -> Iterator[Path]:
        """Make a folder in the cache to build in, of a name that no build of the bucket has taken."""
        mark(self.cache, self.label)
        taken: list[str] = []

        def is_taken(name: str) -> bool:
            if not self.objects.create(reservation_object(name), secrets.token_hex(8).encode()):
                return True
            taken.append(name)
            return self.objects.stat(manifest_object(name)) is not None

        try:
            with self.cache.staging(content_hash, is_taken) as folder:
                yield folder
        finally:
            with suppress(StoreUnavailable):  # else the sweep removes them
                self.objects.delete(map(reservation_object, taken))

    def seal(self, staged: Path) -> Path:
        """Move a staging folder to its place in the cache, and send it to the bucket. It is not current yet."""
        folder = self.cache.seal(staged)
        try:
            self.upload(folder)
        except (StoreUnavailable, SnapshotInvalid) as error:
            raise type(error)(
                f"{error}. The snapshot lies in {folder}; to send it later: quartermaster push {folder} {self.label}"
            ) from error
        return folder

    def upload(self, folder: Path, *, again: bool = False) -> None:
        """Send a snapshot's folder to the bucket, where it is not current yet; `again` sends what is there, too.

        Raises as `SnapshotUpload.run` does.
        """
        name = Manifest.read(folder).snapshot
        if name in self._transactions.head().removed:
            self._transactions.change(lambda head: head.bringing_back(name, self.label))
        head = self._transactions.head()
        others = self._remote.names(head.named | self._sealed) - set(head.removed) - {name}
        young = self._now() - self._grace / 2
        upload = SnapshotUpload(self._remote, folder, relied_on(self._remote, others), young, again=again)
        sent = megabytes_told(self._progress, upload.size)
        if (folder / SIGNATURE).is_file():
            add_signatures(self.objects, name, (folder / SIGNATURE).read_bytes())
        upload.run(sent)
        self._sealed.add(name)

    def publish(self, snapshot: str) -> None:
        """Make a snapshot the current one. Raises SnapshotInvalid where the bucket has none of that name."""

        def published(head: Head) -> Head:
            # Looked at after CURRENT was read: whoever removes the manifest from now on has to write CURRENT first.
            after = head.bringing_back(snapshot, self.label)
            self._remote.forget(snapshot)
            self._remote.manifest_bytes(snapshot)
            return replace(after, snapshot=snapshot)

        self._transactions.change(published)

    def write_state(self, state: StoreState) -> None:
        """Replace what the store remembers."""
        self._transactions.change(lambda head: replace(head, state=state))

    def write_signed_pointer(self, text: str) -> None:
        """Replace the signed statement about the current snapshot."""
        self._transactions.change(lambda head: replace(head, pointer=text))

    def locked(self) -> AbstractContextManager[None]:
        """Return a block whose changes are written at its end, in one step.

        It raises StoreChanged there where another writer was first, and StoreUnavailable.
        """
        return self._transactions.transaction()

    @retried
    def take_sequence(self) -> int:
        """Return a number that is larger than every one before it, in the bucket and in the cache's workspace."""
        with self.locked():
            state = self.state()
            stored = (stored.order[0] for stored in self.snapshots())
            sequence = 1 + max(state.sequence, self.cache.last_number(), *stored, 0)
            self.write_state(replace(state, sequence=sequence))
        return sequence

    def retain(self, keep: int) -> list[str]:
        """Take the snapshots that `removable` names from the list, and return their names, sorted.

        What was taken longer ago than the grace period is removed, and what no snapshot needs; so is what is old in
        the cache.
        """
        now = self._now()
        removed = self._take_from_list(keep, now)
        if going := self._let_go(now):
            remove_manifests(self._remote, going)
            self._transactions.change(lambda head: head.without_removed(going))
        sweep_files(self._remote, self._transactions.head(), now, self._grace)
        self.cache.retain(keep)
        return removed

    @retried
    def _take_from_list(self, keep: int, now: datetime) -> list[str]:
        with self.locked():
            if names := removable(self, self.state(), keep):
                self._transactions.change(lambda head: head.removing(names, now))
        return names

    @retried
    def _let_go(self, now: datetime) -> list[str]:
        """Write into CURRENT which manifests this store removes now, so that nobody publishes them; return them."""
        with self.locked():
            if names := due(self._transactions.head(), now, self._grace):
                self._transactions.change(lambda head: head.letting_go(names, now))
        return names

    def _written(self, head: Head) -> None:
        """Take over what CURRENT says since this store has written it."""
        if head.snapshot in self._sealed:
            self._base = head.snapshot
        super()._written(head)

    def _now(self) -> datetime:
        """Return the bucket's time, by an object that is written for that: clocks of other machines may be wrong."""
        self.objects.put(CLOCK, datetime.now(UTC).isoformat().encode())
        if (stored := self.objects.stat(CLOCK)) is None:
            raise StoreUnavailable(f"{self.label}/{CLOCK} was written, and is not there")
        return stored.modified


def push(store: BucketStore, folder: Path, *, again: bool = False) -> tuple[str, ...]:
    """Send a snapshot to the bucket and publish it; return the reasons why it does not serve there.

    It does not where a gate held it, where an operator has decided against it, and where a newer one serves: going back
    is a decision of its own. `again` sends every file, whatever the bucket has.

    Raises SnapshotInvalid where the snapshot is damaged, SettingsInvalid where routers would refuse its signature, and
    as `BucketStore.upload` does.
    """
    manifest = open_whole(folder).manifest
    if (folder / SIGNATURE).is_file() and manifest.catalog != store.catalog:
        raise SettingsInvalid(
            f"{store.label} must end with /{manifest.catalog}, the catalog of {folder}: it is signed, and routers that "
            "check signatures take the catalog's name from the address"
        )
    store.begin_build()
    store.upload(folder, again=again)
    if reasons := _reasons_against(store, manifest):
        return reasons
    return publish_build(store, manifest.snapshot)


def _reasons_against(store: BucketStore, manifest: Manifest) -> tuple[str, ...]:
    to_serve = f"to let it serve: quartermaster snapshots {store.label} --use {manifest.snapshot}"
    if manifest.held and manifest.snapshot not in store.state().accepted:
        return (*manifest.held, to_serve)
    current = find_current(store.snapshots())
    if current is not None and (manifest.sequence, manifest.snapshot) < current.order:
        older = f"{current.name} serves, which has the number {current.order[0]}, and this one {manifest.sequence}"
        return older, to_serve
    return ()
