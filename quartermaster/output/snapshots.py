"""Snapshots on a terminal: list and verify them, change the one that serves."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.encoders.automatic import newer_choice, untuned_name
from pipeline.store import (
    DiskSize,
    RolledBack,
    Signing,
    StoreState,
    decisions,
    is_held,
    is_rolled_back,
    sign_in,
    signing_keys_in,
)
from pipeline.store.deltas.databases import open_whole
from pipeline.store.private_keys import read_signer
from quartermaster.output.catalog_stores import (
    CatalogStore,
    address_of_copy,
    deciding_store,
    listed_store,
    require_serving,
    sizes,
)
from quartermaster.output.terminal import err, out, print_json, rows_table, say, tell
from router.contract import Manifest
from router.errors import SettingsInvalid, SnapshotInvalid
from router.snapshot.listed_files import told, unlisted_files
from router.store import Stored


@dataclass(frozen=True, slots=True)
class Decision:
    """What an operator decides for a catalog, by the options of `quartermaster snapshots`.

    `snapshot` is the one to pin or to sign, None for the current one. `sign_key` is the private key that signs the
    decision, `unsigned` says to go without.
    """

    rollback: bool = False
    use: str | None = None
    pin: bool = False
    unpin: bool = False
    release: str | None = None
    snapshot: str | None = None
    sign: bool = False
    sign_key: str | None = None
    unsigned: bool = False

    @property
    def given(self) -> list[str]:
        """Return the options that were given; only one may be."""
        options = ("rollback", "use", "pin", "unpin", "release", "sign")
        return [f"--{option}" for option in options if getattr(self, option) not in (False, None)]


def decide(workspace: Path, catalog: str, decision: Decision) -> None:
    """Carry out a decision and say what it did. Raises SettingsInvalid or SnapshotInvalid where it cannot be."""
    store = deciding_store(workspace, catalog)
    signing = _signing(decision)
    if decision.rollback:
        message = f"{catalog} now serves {decisions.rollback(store, signing)}"
    elif decision.use is not None:
        decisions.use(store, decision.use, signing)
        message = f"{catalog} now serves {decision.use}"
    elif decision.pin:
        message = f"{catalog} serves {decisions.pin(store, decision.snapshot, signing)} until it is unpinned"
    elif decision.sign:
        message = _sign(store, decision.snapshot, signing)
    elif decision.unpin:
        message = f"{decisions.unpin(store)} is pinned no more: the next build may publish"
    else:
        decisions.release(store, str(decision.release))
        message = f"{catalog}: builds may publish the content of {decision.release} again"
    say(message)


def _signing(decision: Decision) -> Signing:
    """Return how a decision is signed. Raises SettingsInvalid where the key cannot be read."""
    if decision.unsigned or decision.sign_key is None:
        return Signing(optional=decision.unsigned)
    return Signing(read_signer(decision.sign_key))


def _sign(store: CatalogStore, name: str | None, signing: Signing) -> str:
    """Sign a snapshot, verified whole, and return what to say of it."""
    name = name or store.current()
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
        store = listed_store(workspace, catalog)
        try:
            require_serving(store)
        except SnapshotInvalid as error:
            intact = False
            say(str(error))
        state, snapshots = store.state(), store.snapshots()
        size_of = sizes(store, [stored.name for stored in snapshots])
        for stored in snapshots:
            problem = stored.problem or (_problem(store, stored.name) if verify else "")
            intact = intact and not problem
            size = size_of.get(stored.name, DiskSize(0, 0))
            signed_by = signing_keys_in(store, stored.name)
            entries.append(_entry(store.catalog, stored, state, problem, size) | {"signed_by": signed_by})
            rows.append(_row(store.catalog, stored.name, stored.current, stored.manifest, size))
            remarks += [(stored.name, remark) for remark in _remarks(stored, state, problem)]
        if address := address_of_copy(store):
            remarks.append(
                (store.catalog, f"a copy of {address}: quartermaster snapshots {address} shows what is there")
            )
    if as_json:
        print_json(entries)
    else:
        table = rows_table(("", "catalog", "snapshot", "tools", "MB (shared)", "encoder", "expansions by"), rows)
        table.columns[2].no_wrap = True  # the name is copied into commands
        out.print(table)
        for name, remark in remarks:
            tell(f"{name}: {remark}")
    if verify and intact:
        err.print(f"{len(rows)} verified: every file has the checksum of its manifest, and every snapshot opens")
    return intact


def _entry(catalog: str, stored: Stored, state: StoreState, problem: str, size: DiskSize) -> dict[str, object]:
    manifest = stored.manifest
    left = _rolled_back(stored, state)
    return {
        "catalog": catalog,
        "snapshot": stored.name,
        "sequence": stored.order[0],
        "current": stored.current,
        "tools": manifest.counts["tools"] if manifest else None,
        "encoder": manifest.encoder.model if manifest and manifest.encoder else None,
        "encoder_revision": manifest.encoder.revision if manifest and manifest.encoder else None,
        "encoder_dim": manifest.encoder.dim if manifest and manifest.encoder else None,
        "encoder_precision": manifest.encoder.precision if manifest and manifest.encoder else None,
        "rebuild_encoder": newer_choice(manifest) if manifest and stored.current else None,
        "generators": dict(manifest.generators) if manifest else None,
        "held": is_held(stored, state),
        "pinned": state.pin.at if state.pin and state.pin.snapshot == stored.name else None,
        "rolled_back": left.at if left else None,
        "own_bytes": size.own,
        "shared_bytes": size.shared,
        "problem": problem or None,
    }


def _remarks(stored: Stored, state: StoreState, problem: str) -> Iterator[str]:
    """Yield what is to be said of a snapshot below the table."""
    if problem:
        yield problem
    elif is_held(stored, state) and stored.manifest:
        yield "held back: " + "; ".join(stored.manifest.held)
    if state.pin and state.pin.snapshot == stored.name:
        yield f"pinned since {state.pin.at}" + ("" if stored.current else ", but does not serve: pin it again")
    if stored.current and (advice := _encoder_advice(stored.manifest)):
        yield advice
    if left := _rolled_back(stored, state):
        yield f"rolled back from at {left.at}: no build publishes its content before --release {stored.name}"


def _encoder_advice(manifest: Manifest | None) -> str:
    """Return what to say where a rebuild would use another encoder; empty where it would not."""
    choice = newer_choice(manifest) if manifest else None
    if manifest is None or manifest.encoder is None or choice is None:
        return ""
    return (
        f'built with {manifest.encoder.described}. A rebuild with encoder = "auto" would use {choice}. To measure what '
        "that gains: quartermaster evaluate --bench CATALOG_FOLDER --encoder auto --against-encoder "
        f"{untuned_name(manifest)}"
    )


def _rolled_back(stored: Stored, state: StoreState) -> RolledBack | None:
    if stored.manifest is None or not is_rolled_back(stored, state):
        return None
    return state.rollback_of(stored.manifest.content_hash, stored.manifest.inputs_hash)


def _problem(store: CatalogStore, name: str) -> str:
    try:
        folder = store.local_folder(name)
        snapshot = open_whole(folder)
    except SnapshotInvalid as error:
        return str(error)
    unlisted = unlisted_files(folder, snapshot.manifest)
    return f"{folder} holds files that its manifest does not list: {told(unlisted)}" if unlisted else ""


def _row(catalog: str, name: str, current: bool, manifest: Manifest | None, size: DiskSize) -> tuple[str, ...]:
    arrow = "→" if current else ""
    disk = f"{size.own / 1e6:,.0f} ({size.shared / 1e6:,.0f})"
    if manifest is None:
        return (arrow, catalog, name, "", disk, "", "")
    encoder = manifest.encoder.model if manifest.encoder else "none"
    writers = ", ".join(f"{generator} {count:,}" for generator, count in manifest.generators.items())
    return (arrow, catalog, name, f"{manifest.counts['tools']:,}", disk, encoder, writers or "none")
