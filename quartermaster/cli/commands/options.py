"""Options that several commands share, in groups, and the snapshots, routers and settings that they name."""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from pipeline.store import SnapshotStore, catalogs, last_built
from quartermaster.output.terminal import print_err
from router import Router, Selection
from router.errors import SettingsInvalid, SnapshotInvalid
from router.store import CACHE_DIR_VARIABLE, current_folder, is_url, open_store

if TYPE_CHECKING:
    from pipeline.settings import EnrichmentSettings

WORKSPACE = Path(".quartermaster")
CATALOG_VARIABLE, TRUSTED_KEYS_VARIABLE = "QUARTERMASTER_CATALOG", "QUARTERMASTER_TRUSTED_KEYS"

Workspace = Annotated[Path, "Folder of the ledger and the snapshots."]
CacheDir = Annotated[
    Path | None,
    typer.Option(
        envvar=CACHE_DIR_VARIABLE,
        help="With an address: the folder of caches, which processes may share; by default the user's cache.",
    ),
]
TrustedKeys = Annotated[
    list[str] | None,
    typer.Option(
        envvar=TRUSTED_KEYS_VARIABLE,
        help="A public key, or a file of keys: serve only what one of them signed. May be repeated.",
    ),
]
TrustState = Annotated[
    Path | None,
    typer.Option(
        envvar="QUARTERMASTER_TRUST_STATE",
        help="With --trusted-keys: a file that keeps the newest snapshot's number over restarts.",
    ),
]
SnapshotSource = Annotated[
    str | None,
    "A snapshot's or a catalog's folder, or a catalog's address such as s3://bucket/catalogs/demo, instead of "
    "the workspace.",
]
RecipeName = Annotated[
    str | None,
    typer.Option("--recipe", help="default, standard, adaptive, published or lexical; by default the snapshot's own."),
]
SelectionFile = Annotated[Path | None, typer.Option("--selection", help="A TOML or JSON file of filters and weights.")]
FiguresFile = Annotated[Path | None, typer.Option("--json", help="Write the figures to this file, or - to print them.")]
JsonOutput = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


class App(typer.Typer):
    """A group of commands whose options are declared in short: in dataclasses, and with their help as annotation."""

    def __init__(self, about: str) -> None:
        super().__init__(
            help=about,
            no_args_is_help=True,
            add_completion=False,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
        )

    def add(self, command: Callable[..., None], name: str | None = None) -> Callable[..., None]:
        """Add a command. The fields of a dataclass are options, and so is a parameter annotated with its help.

        An option is named as its parameter, without the `_s` of one in seconds.
        """
        parameters: list[inspect.Parameter] = []
        groups: dict[str, Any] = {key: kind for key, kind in get_type_hints(command).items() if is_dataclass(kind)}
        for parameter in _parameters(command):
            parameters += _parameters(groups[parameter.name]) if parameter.name in groups else [parameter]

        def run(**given: Any) -> None:
            for key, kind in groups.items():
                given[key] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
            command(**given)

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        self.command(name)(run)
        return command


def _parameters(declared: Callable[..., object]) -> list[inspect.Parameter]:
    """Return the parameters of a command or the fields of a dataclass as typer takes them."""
    hints = get_type_hints(declared, include_extras=True)
    found = []
    for parameter in inspect.signature(declared).parameters.values():
        hint = hints[parameter.name]
        about = next((extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, str)), None)
        if about is not None:
            flag = f"--{parameter.name.removesuffix('_s').replace('_', '-')}"
            hint = Annotated[hint.__origin__, typer.Option(flag, help=about)]
        found.append(parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))
    return found


@dataclass(frozen=True, kw_only=True)
class Source:
    """Which snapshot is read."""

    catalog: Annotated[
        str | None,
        typer.Option(
            envvar=CATALOG_VARIABLE,
            help="Which catalog of the workspace, by default the one built last; or an address.",
        ),
    ] = None
    workspace: Workspace = WORKSPACE
    snapshot: SnapshotSource = None
    cache_dir: CacheDir = None

    def given(self) -> list[str]:
        """Return the options as they stand on a command line, for one to be pasted."""
        workspace = None if self.workspace == WORKSPACE else str(self.workspace)
        options = {"--catalog": self.catalog, "--workspace": workspace, "--snapshot": self.snapshot}
        return [part for name, value in options.items() if value is not None for part in (name, value)]

    def place(self) -> Path | str:
        """Return the folder or the address that the options name, by default the folder of the catalog built last.

        Raises SnapshotInvalid if the workspace lacks the catalog, or is empty.
        """
        if self.snapshot is not None:
            return self.snapshot if is_url(self.snapshot) else Path(self.snapshot)
        if self.catalog is not None and is_url(self.catalog):
            return self.catalog
        names = catalogs(self.workspace)
        if self.catalog is not None:
            return SnapshotStore(self.workspace, _require_known(self.catalog, names, self.workspace)).folder
        latest = last_built(self.workspace)
        if latest is None:
            raise _empty_workspace(self.workspace)
        if len(names) > 1:
            other = f"--catalog NAME or {CATALOG_VARIABLE} chooses another"
            print_err(f'Using the catalog "{latest}", built last; {other}', "dim")
        return SnapshotStore(self.workspace, latest).folder

    def local_folder(self) -> Path:
        """Return the folder on this machine: an address' current snapshot, fetched if its cache lacks it.

        Raises SnapshotInvalid.
        """
        place = self.place()
        return current_folder(open_store(place, self.cache_dir)) if is_url(place) else Path(place)


@dataclass(frozen=True, kw_only=True)
class SignedSource(Source):
    """Which snapshot answers, and whose signature it must have."""

    trusted_keys: TrustedKeys = None

    def trust(self, state: Path | None = None) -> dict[str, Any]:
        """Return what `Router.open` takes of the options about signatures.

        Raises SettingsInvalid where a signature is to be checked and the options name no catalog: who writes to the
        workspace decides which one was built last.
        """
        keys = required_keys(self.trusted_keys)
        catalog = None if self.snapshot is None and is_url(self.catalog) else self.catalog
        if keys is not None and self.snapshot is None and self.catalog is None:
            raise SettingsInvalid(f"with --trusted-keys, name the catalog: --catalog NAME, or {CATALOG_VARIABLE}")
        return {"trusted_keys": keys, "catalog": catalog if keys is not None else None, "trust_state": state}

    def open(self, selection: Path | None = None) -> Router:
        """Return a router over the snapshot, with the selection of a file."""
        chosen, trust, place = load_selection(selection), self.trust(), self.place()
        return Router.open(place, cache_dir=cache_for(place, self.cache_dir), selection=chosen, **trust)


def required_keys(trusted_keys: list[str] | None) -> list[str] | None:
    """Return the keys of the option or the variable; None where neither is given.

    Typer takes an empty variable for none: a key that was not filled in must not switch the check off.
    """
    if trusted_keys:
        return trusted_keys
    return None if os.environ.get(TRUSTED_KEYS_VARIABLE) is None else []


def require_model(generator: str | None, settings: "EnrichmentSettings") -> None:
    """Raise SettingsInvalid where the option names a model's server, and there is neither a key nor an address."""
    if generator == "openai" and not settings.reaches_model:
        raise SettingsInvalid(
            "--generator openai needs a key or a server: set OPENAI_API_KEY or OPENAI_BASE_URL, or leave the option "
            "out, so that what a model wrote before serves"
        )


def load_selection(file: Path | None) -> Selection | None:
    """Return the selection of a file, None without one. Raises SettingsInvalid if the file is wrong."""
    return Selection.load(file) if file else None


def cache_for(place: Path | str, cache_dir: Path | None) -> Path | None:
    """Return the folder of caches for an address; None for a folder, whatever the environment says."""
    return cache_dir if is_url(place) else None


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
