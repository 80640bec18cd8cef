"""Snapshots on a terminal: list and verify them, change the one that serves."""

import json
from pathlib import Path

from flows.output.terminal import err, out, plain_text, rows_table
from router.contract import Manifest
from router.errors import SnapshotInvalid
from router.snapshot.snapshot import Snapshot
from router.store import SnapshotStore, current_folder, open_store


def change_serving(workspace: Path, catalog: str, use: str | None) -> None:
    """Serve another snapshot: `use`, or else the one before the current. Raises SnapshotInvalid if it is damaged."""
    store = SnapshotStore(workspace, catalog)
    if use:
        Snapshot.open(store.local_folder(use), whole=True)
        store.publish(use)
    else:
        use = store.rollback()
    err.print(f"{catalog} now serves {use}")


def show_snapshots(workspace: Path, catalogs: list[str], *, verify: bool, as_json: bool) -> bool:
    """List the snapshots of the catalogs, newest first; return False if one is damaged.

    `verify` checks every file against its checksum.
    """
    intact = True
    rows, entries, remarks = [], [], []
    for catalog in catalogs:
        store = SnapshotStore(workspace, catalog)
        try:
            current_folder(open_store(store.folder))
        except SnapshotInvalid as error:
            intact = False
            err.print(plain_text(str(error)), soft_wrap=True)
        for stored in store.snapshots():
            problem = stored.problem or (_problem(store.local_folder(stored.name)) if verify else "")
            remark = problem or (
                "held back: " + "; ".join(stored.manifest.held) if stored.held and stored.manifest else ""
            )
            intact = intact and not problem
            manifest = stored.manifest
            entries.append(
                {
                    "catalog": catalog,
                    "snapshot": stored.name,
                    "current": stored.current,
                    "tools": manifest.counts["tools"] if manifest else None,
                    "encoder": manifest.encoder.model if manifest and manifest.encoder else None,
                    "generators": dict(manifest.generators) if manifest else None,
                    "held": stored.held,
                    "problem": problem or None,
                }
            )
            rows.append(_row(catalog, stored.name, stored.current, manifest))
            if remark:
                remarks.append((stored.name, remark))
    if as_json:
        print(json.dumps(entries, ensure_ascii=False))
    else:
        out.print(rows_table(("", "catalog", "snapshot", "tools", "encoder", "expansions by"), rows))
        for name, remark in remarks:
            out.print(plain_text(f"{name}: {remark}"), soft_wrap=True)
    if verify and intact:
        err.print(f"{len(rows)} verified: every file has the checksum of its manifest, and every snapshot opens")
    return intact


def _problem(folder: Path) -> str:
    try:
        Snapshot.open(folder, whole=True)
    except SnapshotInvalid as error:
        return str(error)
    return ""


def _row(catalog: str, name: str, current: bool, manifest: Manifest | None) -> tuple[str, ...]:
    arrow = "→" if current else ""
    if manifest is None:
        return (arrow, catalog, name, "", "", "")
    encoder = manifest.encoder.model if manifest.encoder else "none"
    writers = ", ".join(f"{generator} {count:,}" for generator, count in manifest.generators.items())
    return (arrow, catalog, name, f"{manifest.counts['tools']:,}", encoder, writers or "none")
