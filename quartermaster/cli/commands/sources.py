"""What commands ask and take of a catalog's sources: may its commands run, its servers' tools, a person's login."""

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from pipeline.errors import RunAborted, SettingsInvalid
from quartermaster.output.terminal import print_err
from router.typed import converted

if TYPE_CHECKING:
    from pipeline.settings import CatalogSettings, SourceSettings
    from pipeline.sources.transport.approval import Permission
    from quartermaster.serving.mcp import Upstream

_logger = logging.getLogger("quartermaster.serving")
AllowCommands = Annotated[
    bool,
    typer.Option(
        "--allow-commands",
        envvar="QUARTERMASTER_ALLOW_COMMANDS",
        help="Run the catalog's commands and send the variables that it names, also new ones; they are remembered for "
        "this user.",
    ),
]


def permit(settings: "CatalogSettings", *, allow: bool, may_ask: bool = True) -> None:
    """Print what a catalog needs permission for, and ask about what is new where a person can answer.

    Raises SettingsInvalid where it is not given.
    """
    from pipeline.sources.transport.approval import approve, require_approved

    new = show_permissions(settings)
    asks = new and not allow and may_ask and sys.stdin.isatty() and sys.stderr.isatty()
    if asks and typer.confirm("Allow what is new, now and at later builds?", err=True):
        approve(new)
    require_approved(settings, allow=allow)


def show_permissions(settings: "CatalogSettings") -> "tuple[Permission, ...]":
    """Print on standard error what a catalog needs permission for, and return what was not allowed before."""
    from pipeline.sources.transport.approval import not_approved, permissions_of

    permissions = permissions_of(settings)
    new = not_approved(permissions)
    for permission in permissions:
        state, style = ("new", "yellow") if permission in new else ("allowed", "dim")
        print_err(f"{state}: {permission}", style)
    return new


def catalog_upstreams(path: Path, *, allow_commands: bool) -> "tuple[Upstream, ...]":
    """Return the live MCP servers of a catalog or a client's file, with all that its build asks them with.

    Raises SettingsInvalid where it needs permission that was not given: a client holds standard input, so nobody can be
    asked. A server of a client's file that cannot be used is left out with a warning.
    """
    from pipeline.settings import load

    catalog = load(path)
    if path.is_file() and not any(source.client for source in catalog.source):
        raise SettingsInvalid(f'{path} is not a file of MCP servers, as clients have it: {{"mcpServers": …}}')
    # Its commands run here, whatever it says of builds.
    sources = catalog.sources.model_copy(update={"run_commands": True})
    permit(catalog.model_copy(update={"sources": sources}), allow=allow_commands, may_ask=False)
    found = []
    for source in catalog.source:
        try:
            if source.is_live_server:
                found.append(_upstream(source, catalog.folder_of(source)))
        except (RunAborted, SettingsInvalid) as error:
            if source.client is None:
                raise
            _logger.warning("%s", error)
    return tuple(found)


def _upstream(source: "SourceSettings", folder: Path) -> "Upstream":
    from pipeline.sources.naming import label_of, location
    from pipeline.sources.transport.access import resolve_access
    from quartermaster.serving.mcp import Upstream
    from quartermaster.serving.mcp.upstream import Bounds

    credentials = resolve_access(source)
    auth = None
    if source.oauth is not None:
        from pipeline.sources.transport.oauth import authentication

        auth = authentication(source, credentials, folder)
    given = dict(source.client.bounds) if source.client else {}
    bounds = converted(given, Bounds, place=f"the MCP server {source.provider!r}: ")
    return Upstream(
        label_of(source),
        command=credentials.command,
        url=credentials.url or None,
        provider=source.provider,
        place=location(source),
        folder=folder,
        environment=credentials.env,
        headers=credentials.headers,
        auth=auth,
        offers=source.client.offers if source.client else None,
        **{**msgspec.structs.asdict(bounds), "timeout_s": source.timeout_s},
    )


def login(
    path: Annotated[Path, typer.Argument(help="The catalog's folder.")],
    source: Annotated[int | None, "Which [[source]], from 1; without it all that have oauth for a person."] = None,
    browser: Annotated[bool, typer.Option(help="Open the address in a browser; it is printed in any case.")] = True,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Of the redirect to this machine; 0 for any.")] = 0,
    allow_commands: AllowCommands = False,
) -> None:
    """Log in to a catalog's MCP servers, once for all later builds. Its sources say which have oauth.

    The token is stored in a file of the user's own (~/.config/quartermaster/tokens), and refreshed by the builds. A
    build itself never asks a person. Sources with a client_secret need no login.
    """
    import webbrowser

    from pipeline.settings import load
    from pipeline.sources.naming import location
    from pipeline.sources.transport.login import log_in

    catalog = load(path)
    sources = [
        settings
        for number, settings in enumerate(catalog.source, 1)
        if settings.oauth and not settings.oauth.by_credentials and source in (None, number)
    ]
    if not sources:
        which = "no source" if source is None else f"source {source} is none that"
        raise SettingsInvalid(f"{path}: {which} has oauth for a person to log in: write [source.oauth] below its url")

    permit(catalog.model_copy(update={"source": tuple(sources)}), allow=allow_commands)

    def show(address: str) -> None:
        print_err("Log in at this address:")
        print_err(address)
        if browser:
            webbrowser.open(address)

    for settings in sources:
        print_err(f"Logging in to {location(settings)}")
        file, tools = log_in(settings, catalog.folder, show=show, port=port)
        print_err(f"{tools:,} {'tool' if tools == 1 else 'tools'}; the token is stored in {file}")
