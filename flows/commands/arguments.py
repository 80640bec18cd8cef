"""Arguments that several commands share, and what they name."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from router import Router, Selection
from router.errors import SettingsInvalid, SnapshotInvalid

WORKSPACE = Path(".quartermaster")

Workspace = Annotated[Path, typer.Option(help="Folder of the ledger and the snapshots.")]
Catalog = Annotated[Optional[str], typer.Option(help="Which catalog of the workspace, where it has several.")]
At = Annotated[
    Optional[Path], typer.Option("--snapshot", help="A snapshot's or a catalog's folder, instead of the workspace.")
]
RecipeName = Annotated[
    Optional[str], typer.Option("--recipe", help="default, adaptive, published or lexical; else the snapshot's own.")
]
SelectionFile = Annotated[
    Optional[Path], typer.Option("--selection", help="TOML or JSON: what is filtered, and how candidates are ordered.")
]
Category = Annotated[Optional[str], typer.Option(help="The request's category, for a selection that goes by it.")]
Confidence = Annotated[Optional[float], typer.Option("--category-confidence", help="How sure of it, from 0 to 1.")]
Budget = Annotated[Optional[int], typer.Option("--token-budget", help="As many of the tools as fit these tokens.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Limit = Annotated[int, typer.Option("-k", help="How many tools.")]
Request = Annotated[str, typer.Argument(help="What should be done, in everyday words.")]


def open_router(snapshot: Path | None, workspace: Path, catalog: str | None, selection: Path | None = None) -> Router:
    """The router over what the options name."""
    chosen = Selection.load(selection) if selection else None
    return Router.open(folder_of(snapshot, workspace, catalog), selection=chosen)


def folder_of(snapshot: Path | None, workspace: Path, catalog: str | None) -> Path:
    """The folder of the snapshot or the catalog that the options name."""
    if snapshot is not None:
        return snapshot
    names = catalogs_of(workspace)
    if catalog is not None and catalog not in names:
        raise SnapshotInvalid(
            f"the workspace {workspace} has no catalog {catalog!r}: it has {', '.join(names) or 'none'}; "
            "build one with `quartermaster build`"
        )
    return workspace / "snapshots" / (catalog or only(names, workspace))


def catalogs_of(workspace: Path) -> list[str]:
    """The catalogs of a workspace, by name."""
    folder = workspace / "snapshots"
    return sorted(f.name for f in folder.iterdir() if f.is_dir()) if folder.is_dir() else []


def only(names: list[str], workspace: Path, how: str = "with --catalog NAME") -> str:
    """The one catalog there is. Raises SnapshotInvalid where there is none, SettingsInvalid where there are several."""
    if not names:
        raise SnapshotInvalid(f"the workspace {workspace} has no snapshot: build one with `quartermaster build`")
    if len(names) > 1:
        raise SettingsInvalid(f"the workspace {workspace} has several catalogs ({', '.join(names)}): say which, {how}")
    return names[0]
