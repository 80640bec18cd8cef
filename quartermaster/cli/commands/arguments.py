"""Options that several commands share, and the routers, folders and catalogs that they name."""

import os
from pathlib import Path
from typing import Annotated, Optional, TypedDict

import typer

from pipeline.store import SnapshotStore, catalogs, last_built
from router import Router, Selection
from router.errors import SettingsInvalid, SnapshotInvalid
from router.store import CACHE_DIR_VARIABLE, current_folder, is_url, open_store

WORKSPACE = Path(".quartermaster")
CATALOG_VARIABLE = "QUARTERMASTER_CATALOG"

TRUSTED_KEYS_VARIABLE = "QUARTERMASTER_TRUSTED_KEYS"

Workspace = Annotated[Path, typer.Option(help="Folder of the ledger and the snapshots.")]
Catalog = Annotated[
    Optional[str],
    typer.Option(
        envvar=CATALOG_VARIABLE, help="Which catalog of the workspace, by default the one built last; or an address."
    ),
]
SnapshotSource = Annotated[
    Optional[str],
    typer.Option(
        "--snapshot",
        help="A snapshot's or a catalog's folder, or a catalog's address such as s3://bucket/catalogs/demo, instead of "
        "the workspace.",
    ),
]
CacheDir = Annotated[
    Optional[Path],
    typer.Option(
        "--cache-dir",
        envvar=CACHE_DIR_VARIABLE,
        help="With an address: the folder of caches, which processes may share; by default the user's cache.",
    ),
]
TrustedKeys = Annotated[
    Optional[list[str]],
    typer.Option(
        envvar=TRUSTED_KEYS_VARIABLE,
        help="A public key, or a file of keys: serve only what one of them signed. May be repeated.",
    ),
]
TrustStateFile = Annotated[
    Optional[Path],
    typer.Option(
        "--trust-state",
        envvar="QUARTERMASTER_TRUST_STATE",
        help="With --trusted-keys: a file that keeps the newest snapshot's number over restarts.",
    ),
]
RecipeName = Annotated[
    Optional[str],
    typer.Option("--recipe", help="default, standard, adaptive, published or lexical; by default the snapshot's own."),
]
Generator = Annotated[Optional[str], typer.Option(help="As in build.")]
Encoder = Annotated[Optional[str], typer.Option(help="As in build.")]
FiguresFile = Annotated[
    Optional[Path], typer.Option("--json", help="Write the figures to this file, or - to print them.")
]
Watch = Annotated[float, typer.Option(help="Seconds between two looks for a new snapshot; 0: never.")]
Insecure = Annotated[bool, typer.Option("--insecure", help="Listen beyond this machine without a token.")]
SelectionFile = Annotated[
    Optional[Path], typer.Option("--selection", help="A TOML or JSON file of filters and weights.")
]
Category = Annotated[Optional[str], typer.Option(help="The request's category, for a selection that filters by it.")]
CategoryConfidence = Annotated[
    Optional[float], typer.Option("--category-confidence", help="Confidence in the category, 0 to 1.")
]
TokenBudget = Annotated[
    Optional[int], typer.Option("--token-budget", help="Return the tools that fit into this many tokens.")
]
JsonOutput = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
ToolCount = Annotated[int, typer.Option("-k", help="How many tools.")]
RequestText = Annotated[str, typer.Argument(help="What should be done, in everyday words.")]


class TrustOptions(TypedDict):
    """The options of `Router.open` about signatures."""

    trusted_keys: list[str] | None
    catalog: str | None
    trust_state: Path | None


def open_router(
    snapshot: str | None,
    workspace: Path,
    catalog: str | None,
    selection: Path | None = None,
    trusted_keys: list[str] | None = None,
    cache_dir: Path | None = None,
) -> Router:
    """Return a router over the snapshot or catalog that the options name."""
    chosen = load_selection(selection)
    trust = trust_options(trusted_keys, None, snapshot, catalog)
    source = source_of(snapshot, workspace, catalog)
    return Router.open(source, cache_dir=cache_for(source, cache_dir), selection=chosen, **trust)


def trust_options(
    trusted_keys: list[str] | None, state: Path | None, snapshot: str | None, catalog: str | None
) -> TrustOptions:
    """Return what `Router.open` takes of the options about signatures.

    Raises SettingsInvalid where a signature is to be checked and the options name no catalog: whoever writes to the
    workspace decides which one was built last.
    """
    keys = required_keys(trusted_keys)
    if snapshot is None and is_url(catalog):
        snapshot, catalog = catalog, None
    if keys is not None and snapshot is None and catalog is None:
        raise SettingsInvalid(f"with --trusted-keys, name the catalog: --catalog NAME, or {CATALOG_VARIABLE}")
    return TrustOptions(trusted_keys=keys, catalog=catalog if keys is not None else None, trust_state=state)


def required_keys(trusted_keys: list[str] | None) -> list[str] | None:
    """Return the keys of the option or the variable; None where neither is given.

    Typer takes an empty variable for none: a key that was not filled in must not switch the check off.
    """
    if trusted_keys:
        return trusted_keys
    return None if os.environ.get(TRUSTED_KEYS_VARIABLE) is None else []


def load_selection(file: Path | None) -> Selection | None:
    """Return the selection of a file, None without one. Raises SettingsInvalid if the file is wrong."""
    return Selection.load(file) if file else None


def source_of(snapshot: str | None, workspace: Path, catalog: str | None) -> Path | str:
    """Return the folder or the address that the options name, by default the folder of the catalog built last.

    Raises SnapshotInvalid if the workspace lacks the catalog, or is empty.
    """
    if snapshot is not None:
        return snapshot if is_url(snapshot) else Path(snapshot)
    if catalog is not None and is_url(catalog):
        return catalog
    names = catalogs(workspace)
    if catalog is not None:
        return SnapshotStore(workspace, _require_known(catalog, names, workspace)).folder
    latest = last_built(workspace)
    if latest is None:
        raise _empty_workspace(workspace)
    if len(names) > 1:
        from quartermaster.output.terminal import say

        message = f'Using the catalog "{latest}", built last; --catalog NAME or {CATALOG_VARIABLE} chooses another'
        say(message, "dim")
    return SnapshotStore(workspace, latest).folder


def cache_for(source: Path | str, cache_dir: Path | None) -> Path | None:
    """Return the folder of caches for an address; None for a folder, whatever the environment says."""
    return cache_dir if is_url(source) else None


def local_folder(source: Path | str, cache_dir: Path | None) -> Path:
    """Return a source's folder on this machine: an address' current snapshot, fetched if its cache lacks it.

    Raises SnapshotInvalid.
    """
    return current_folder(open_store(source, cache_dir)) if is_url(source) else Path(source)


def catalog_to_change(catalog: str | None, workspace: Path) -> str:
    """Return the catalog whose serving snapshot is to change: the named one, that of the environment, or the only one.

    Raises SettingsInvalid if there are several and none is named, SnapshotInvalid if it does not exist.
    """
    names = catalogs(workspace)
    if catalog := catalog or os.environ.get(CATALOG_VARIABLE):
        return _require_known(catalog, names, workspace)
    if not names:
        raise _empty_workspace(workspace)
    if len(names) > 1:
        raise SettingsInvalid(
            f"the workspace {workspace} has several catalogs ({', '.join(names)}): "
            f"name one, as in `quartermaster snapshots {names[0]} …`"
        )
    return names[0]


def _empty_workspace(workspace: Path) -> SnapshotInvalid:
    return SnapshotInvalid(f"the workspace {workspace} has no snapshot: build one with `quartermaster build`")


def _require_known(catalog: str, names: list[str], workspace: Path) -> str:
    if catalog in names:
        return catalog
    origin = f" (from {CATALOG_VARIABLE})" if catalog == os.environ.get(CATALOG_VARIABLE) else ""
    raise SnapshotInvalid(
        f"the workspace {workspace} has no catalog {catalog!r}{origin}: it has {', '.join(names) or 'none'}; "
        "build one with `quartermaster build`"
    )
