"""The MCP servers of a catalog, for serve: those from which its build reads tools."""

from pathlib import Path

from pipeline.settings import SourceSettings, load
from pipeline.sources.naming import location
from pipeline.sources.transport.access import resolve_access
from quartermaster.cli.commands.permission import permit_commands
from quartermaster.serving.mcp import Upstream


def catalog_upstreams(folder: Path, *, allow_commands: bool) -> tuple[Upstream, ...]:
    """Return the live MCP servers of a catalog, with the headers, environment and token that its build uses.

    Raises SettingsInvalid where it names a command that was not allowed: a client holds standard input, so nobody can
    be asked.
    """
    catalog = load(folder)
    permit_commands(catalog, allow=allow_commands, may_ask=False)
    return tuple(_upstream(source, catalog.folder) for source in catalog.source if source.is_live_server)


def _upstream(source: SourceSettings, folder: Path) -> Upstream:
    credentials = resolve_access(source)
    auth = None
    if source.oauth is not None:
        from pipeline.sources.transport.oauth import authentication

        auth = authentication(source, credentials, folder)
    return Upstream(
        source.label,
        command=source.command or (),
        url=credentials.url or None,
        provider=source.provider,
        place=location(source),
        folder=folder,
        environment=credentials.env,
        headers=credentials.headers,
        auth=auth,
        timeout_s=source.timeout_s,
    )
