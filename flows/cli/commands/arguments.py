"""Arguments that several commands share, and what they name."""

import os
from pathlib import Path
from typing import Annotated, Optional

import typer

from router import Router, Selection
from router.errors import SettingsInvalid, SnapshotInvalid
from router.store import SnapshotStore, catalogs, last_built

WORKSPACE = Path(".quartermaster")
CATALOG_VARIABLE = "QUARTERMASTER_CATALOG"

Workspace = Annotated[Path, typer.Option(help="Folder of the ledger and the snapshots.")]
Catalog = Annotated[
    Optional[str],
    typer.Option(envvar=CATALOG_VARIABLE, help="Which catalog of the workspace; by default the one built last."),
]
At = Annotated[
    Optional[Path], typer.Option("--snapshot", help="A snapshot's or a catalog's folder, instead of the workspace.")
]
RecipeName = Annotated[
    Optional[str],
    typer.Option("--recipe", help="default, adaptive, published or lexical; by default the snapshot's own."),
]
SelectionFile = Annotated[
    Optional[Path], typer.Option("--selection", help="A TOML or JSON file of filters and weights.")
]
Category = Annotated[Optional[str], typer.Option(help="The request's category, for a selection that filters by it.")]
Confidence = Annotated[
    Optional[float], typer.Option("--category-confidence", help="Confidence in the category, 0 to 1.")
]
Budget = Annotated[
    Optional[int], typer.Option("--token-budget", help="Return the tools that fit into this many tokens.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Limit = Annotated[int, typer.Option("-k", help="How many tools.")]
Request = Annotated[str, typer.Argument(help="What should be done, in everyday words.")]


def open_router(snapshot: Path | None, workspace: Path, catalog: str | None, selection: Path | None = None) -> Router:
    """The router over what the options name."""
    chosen = Selection.load(selection) if selection else None
    return Router.open(folder_of(snapshot, workspace, catalog), selection=chosen)


def folder_of(snapshot: Path | None, workspace: Path, catalog: str | None) -> Path:
    """The folder of the snapshot or the catalog that the options name; of several catalogs, else of the last built."""
    if snapshot is not None:
        return snapshot
    names = catalogs(workspace)
    if catalog is not None:
        return SnapshotStore(workspace, _known(catalog, names, workspace)).folder
    chosen = last_built(workspace)
    if chosen is None:
        raise _empty(workspace)
    if len(names) > 1:
        from flows.output.screen import err, plain

        said = f'Using the catalog "{chosen}", built last; --catalog NAME or {CATALOG_VARIABLE} chooses another'
        err.print(plain(said, "dim"), soft_wrap=True)
    return SnapshotStore(workspace, chosen).folder


def to_change(catalog: str | None, workspace: Path) -> str:
    """The catalog whose serving snapshot is to change: the named one, that of the environment, or the only one.

    Never guessed among several. Raises SnapshotInvalid, or SettingsInvalid where several are there and none is named.
    """
    names = catalogs(workspace)
    if catalog := catalog or os.environ.get(CATALOG_VARIABLE):
        return _known(catalog, names, workspace)
    if not names:
        raise _empty(workspace)
    if len(names) > 1:
        raise SettingsInvalid(
            f"the workspace {workspace} has several catalogs ({', '.join(names)}): "
            f"name one, as in `quartermaster snapshots {names[0]} …`"
        )
    return names[0]


def _empty(workspace: Path) -> SnapshotInvalid:
    return SnapshotInvalid(f"the workspace {workspace} has no snapshot: build one with `quartermaster build`")


def _known(catalog: str, names: list[str], workspace: Path) -> str:
    if catalog in names:
        return catalog
    origin = f" (from {CATALOG_VARIABLE})" if catalog == os.environ.get(CATALOG_VARIABLE) else ""
    raise SnapshotInvalid(
        f"the workspace {workspace} has no catalog {catalog!r}{origin}: it has {', '.join(names) or 'none'}; "
        "build one with `quartermaster build`"
    )
