"""Snapshots on a terminal: list and verify them, change the one that serves, here or in a bucket."""

from collections.abc import Iterator
from pathlib import Path

from rich.table import Column

from pipeline.sentences import named
from pipeline.store import Signing, SnapshotStore, decisions, disk_size
from pipeline.store.bucket.store import BucketStore
from pipeline.store.deltas.databases import open_whole
from pipeline.store.disk import DiskSize
from pipeline.store.private_keys import read_signer
from pipeline.store.serviceable import is_held, is_rolled_back
from pipeline.store.signing import sign_in, signing_keys_in
from quartermaster.output.formatting import make_table
from quartermaster.output.terminal import out, print_err, print_json, print_out
from router.errors import SettingsInvalid, SnapshotInvalid
from router.snapshot.listed_files import unlisted_files
from router.snapshot.store.bucket.cache import origin_of
from router.snapshot.store.bucket.url import catalog_of, is_url
from router.snapshot.store.state import RolledBack, StoreState
from router.store import Stored, cache_place

CatalogStore = SnapshotStore | BucketStore


def decide(
    workspace: Path, catalog: str, option: str, name: str | None, *, sign_key: str | None, unsigned: bool
) -> None:
    """Carry out the decision that an option of `quartermaster snapshots` stands for, and say what it did.

    `name` is the snapshot that it is about, None for the current one. `sign_key` is the private key that signs the
    decision, `unsigned` says to go without. Raises SettingsInvalid or SnapshotInvalid where it cannot be.
    """
    store = _listed_store(workspace, catalog)
    if isinstance(store, SnapshotStore) and (address := origin_of(store.folder)):
        store = BucketStore(address, store.folder)  # what serves there is decided there
    signing = Signing(optional=unsigned) if unsigned or sign_key is None else Signing(read_signer(sign_key))
    if option == "--rollback":
        message = f"{catalog} now serves {decisions.rollback(store, signing)}"
    elif option == "--use":
        decisions.use(store, str(name), signing)
        message = f"{catalog} now serves {name}"
    elif option == "--pin":
        message = f"{catalog} serves {decisions.pin(store, name, signing)} until it is unpinned"
    elif option == "--sign":
        message = _sign(store, name or store.current(), signing)
    elif option == "--unpin":
        message = f"{decisions.unpin(store)} is pinned no more: the next build may publish"
    else:
        decisions.release(store, str(name))
        message = f"{catalog}: builds may publish the content of {name} again"
    print_err(message)


def _sign(store: CatalogStore, name: str | None, signing: Signing) -> str:
    """Sign a snapshot, verified whole, and return what to say of it."""
    if signing.signer is None or name is None:
        missing = "--sign needs --sign-key FILE" if name else f"{store.label} serves no snapshot: name the one to sign"
        raise SettingsInvalid(missing)
    sign_in(store, name, signing.signer)
    return f"{name} is signed by the key {signing.signer.public.key_id}"


def show_snapshots(workspace: Path, catalogs: list[str], *, verify: bool, as_json: bool) -> bool:
    """List the snapshots of catalogs by name or address, newest first; return False if one is damaged.

    `verify` checks every file against its checksum.
    """
    intact = True
    rows, entries, remarks = [], [], []
    for catalog in catalogs:
        store = _listed_store(workspace, catalog)
        try:
            _require_serving(store)
        except SnapshotInvalid as error:
            intact = False
            print_err(str(error))
        state, snapshots = store.state(), store.snapshots()
        sizes = store.sizes() if isinstance(store, BucketStore) else {}
        for stored in snapshots:
            problem = stored.problem or (_problem(store, stored.name) if verify else "")
            intact = intact and not problem
            if isinstance(store, BucketStore):
                size = sizes.get(stored.name, DiskSize(0, 0))
            else:
                size = disk_size(store.folder / stored.name)
            entries.append(_entry(store, stored, state, problem, size))
            rows.append(_row(store.catalog, stored, size))
            remarks += [(stored.name, remark) for remark in _remarks(stored, state, problem)]
        if isinstance(store, SnapshotStore) and (address := origin_of(store.folder)):
            copy = f"a copy of {address}: quartermaster snapshots {address} shows what is there"
            remarks.append((store.catalog, copy))
    if as_json:
        print_json(entries)
    else:
        whole = [Column(head, no_wrap=True) for head in ("snapshot", "tools", "MB\n(shared)", "encoder")]
        out.print(make_table(("", "catalog", *whole, "written\nby"), rows))
        for about, remark in remarks:
            print_out(f"{about}: {remark}")
    if verify and intact:
        print_err(f"{len(rows)} verified: every file has the checksum of its manifest, and every snapshot opens")
    return intact


def _listed_store(workspace: Path, catalog: str) -> CatalogStore:
    """Return the store at an address, or of a catalog as it lies in the workspace. Raises SettingsInvalid."""
    if not is_url(catalog):
        return SnapshotStore(workspace, catalog)
    local = SnapshotStore(workspace, catalog_of(catalog))
    is_cached_here = origin_of(local.folder) == catalog.rstrip("/")
    return BucketStore(catalog, local.folder if is_cached_here else cache_place(catalog))


def _require_serving(store: CatalogStore) -> None:
    """Raise SnapshotInvalid where a store serves no snapshot that is there."""
    name = store.current()
    if name is None:
        raise SnapshotInvalid(f"{store.label} serves no snapshot: none was published")
    if name not in {stored.name for stored in store.snapshots()}:
        raise SnapshotInvalid(f"{store.label} serves {name}, whose manifest is not there")


def _problem(store: CatalogStore, name: str) -> str:
    try:
        folder = store.local_folder(name)
        snapshot = open_whole(folder)
    except SnapshotInvalid as error:
        return str(error)
    unlisted = unlisted_files(folder, snapshot.manifest)
    return f"{folder} holds files that its manifest does not list: {named(unlisted, 5)}" if unlisted else ""


def _entry(store: CatalogStore, stored: Stored, state: StoreState, problem: str, size: DiskSize) -> dict[str, object]:
    manifest, left = stored.manifest, _rolled_back(stored, state)
    encoder = manifest.encoder if manifest else None
    return {
        "catalog": store.catalog,
        "snapshot": stored.name,
        "sequence": stored.order[0],
        "current": stored.current,
        "tools": manifest.counts["tools"] if manifest else None,
        "encoder": encoder and encoder.model,
        "encoder_revision": encoder and encoder.revision,
        "encoder_dim": encoder and encoder.dim,
        "encoder_precision": encoder and encoder.precision,
        "generators": dict(manifest.generators) if manifest else None,
        "held": is_held(stored, state),
        "pinned": state.pin.at if state.pin and state.pin.snapshot == stored.name else None,
        "rolled_back": left and left.at,
        "own_bytes": size.own,
        "shared_bytes": size.shared,
        "problem": problem or None,
        "signed_by": signing_keys_in(store, stored.name),
    }


def _row(catalog: str, stored: Stored, size: DiskSize) -> tuple[str, ...]:
    first = ("→" if stored.current else "", catalog, stored.name)
    disk = f"{size.own / 1e6:,.0f} ({size.shared / 1e6:,.0f})"
    if (manifest := stored.manifest) is None:
        return (*first, "", disk, "", "")
    writers = ", ".join(f"{generator} {count:,}" for generator, count in manifest.generators.items())
    encoder = manifest.encoder.model if manifest.encoder else "none"
    return (*first, f"{manifest.counts['tools']:,}", disk, encoder, writers or "none")


def _remarks(stored: Stored, state: StoreState, problem: str) -> Iterator[str]:
    """Yield what is to be said of a snapshot below the table."""
    if problem:
        yield problem
    elif is_held(stored, state) and stored.manifest:
        yield "held back: " + "; ".join(stored.manifest.held)
    if state.pin and state.pin.snapshot == stored.name:
        yield f"pinned since {state.pin.at}" + ("" if stored.current else ", but does not serve: pin it again")
    if left := _rolled_back(stored, state):
        yield f"rolled back from at {left.at}: no build publishes its content before --release {stored.name}"


def _rolled_back(stored: Stored, state: StoreState) -> RolledBack | None:
    if stored.manifest is None or not is_rolled_back(stored, state):
        return None
    return state.rollback_of(stored.manifest.content_hash, stored.manifest.inputs_hash)
