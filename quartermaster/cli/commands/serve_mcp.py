"""serve mcp: three tools in front of a catalog, over stdio or HTTP."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.errors import RunAborted
from quartermaster.cli.commands.options import load_selection
from quartermaster.cli.commands.serve import Listening, ServedSource
from quartermaster.cli.commands.sources import AllowCommands
from quartermaster.output.terminal import print_err
from router import Router, Selection
from router.errors import SettingsInvalid

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from quartermaster.serving.http import HttpSettings
    from quartermaster.serving.mcp import Upstream
    from quartermaster.serving.profiles import Callers


@dataclass(frozen=True, kw_only=True)
class McpListening(Listening):
    """Where the server listens with --http."""

    port: Annotated[int, "The port; 0 picks a free one."] = 8081


def mcp(
    source: ServedSource,
    listening: McpListening,
    catalog_folder: Annotated[
        Path | None, "A catalog's folder: the tools of its live MCP servers can be called."
    ] = None,
    upstream: Annotated[
        Path | None,
        "A client's file of MCP servers, such as mcp.json: their tools can be called, and found in an empty workspace.",
    ] = None,
    calls: Annotated[
        Path | None, "A TOML or JSON file of HTTP APIs, [provider.NAME]: their operations can be called."
    ] = None,
    connect: Annotated[
        bool, "Start those servers now, not at the first call, and serve the tools that they list."
    ] = False,
    allow_commands: AllowCommands = False,
    selection: Annotated[
        Path | None, "A TOML or JSON file of filters: what they leave out is neither found nor called."
    ] = None,
    over_http: Annotated[bool, typer.Option("--http", help="Over streamable HTTP at /mcp, instead of stdio.")] = False,
    max_message_bytes: Annotated[int, "Over stdio: the largest message of the client."] = 16_777_216,
    max_result_characters: Annotated[
        int, typer.Option(min=1, help="Of a longer result the model reads the beginning, and may read on.")
    ] = 50_000,
    profile: Annotated[str | None, "Over stdio, with --profiles: the profile of the client."] = None,
) -> None:
    """Serve as an MCP server. It has three tools: find_tools, describe_tool, call_tool.

    An agent finds the few tools that fit, and calls them through this server, which passes calls on to their own. The
    options from --host to --insecure are for --http.

    \b
    quartermaster serve mcp --catalog-folder catalogs/mcp --allow-commands
    quartermaster serve mcp --upstream mcp.json            the tools of these servers; nothing is built
    quartermaster serve mcp --upstream mcp.json --http
    quartermaster serve mcp --calls calls.toml             the operations of OpenAPI documents
    """
    from quartermaster.calling import ApiCalls, read_call_settings
    from quartermaster.cli.commands.sources import catalog_upstreams
    from quartermaster.serving.mcp import serve_stdio, server
    from quartermaster.serving.profiles import Callers

    profiles = listening.profiles
    _check_profile(profiles, profile, over_http)
    files, is_listed = filter(None, (upstream, catalog_folder)), upstream is not None and source.is_empty
    upstreams = [one for file in files for one in catalog_upstreams(file, allow_commands=allow_commands)]
    apis = ApiCalls(read_call_settings(calls)) if calls else None
    allowed = load_selection(selection)
    with _listed(source, upstreams, allowed) if is_listed else source.serving(source.place(), allowed) as router:
        callers = Callers(profiles, router) if profiles else None
        if callers and profile:
            callers.of_profile(profile)  # a misspelled name is refused now, not at the first request
        served = server(
            router,
            upstreams,
            selection=allowed,
            connect=connect or is_listed,
            callers=callers,
            profile=profile,
            calls=apis,
            max_result_characters=max_result_characters,
        )
        if over_http:
            _serve_http(served, router, listening.settings(), callers)
        else:
            serve_stdio(served, max_message_bytes=max_message_bytes)


def _listed(source: ServedSource, upstreams: "Sequence[Upstream]", selection: Selection | None) -> Router:
    """Return a router in memory over the tools that MCP servers list. Raises RunAborted where there are none."""
    import anyio

    from quartermaster.serving.mcp import list_tools

    tools = anyio.run(list_tools, [one for one in upstreams if one.provider])
    if not tools:
        raise RunAborted("none of the MCP servers lists a tool: the reasons stand above")
    print_err(f"no snapshot: {', '.join(f'{label} {len(found):,}' for label, found in tools.items())} tools", "dim")
    return Router.from_tools(tools, selection=selection, vendor_text=source.vendor_text, **source.logged_and_asked())


def _serve_http(served: "Server[Any]", router: Router, settings: "HttpSettings", callers: "Callers | None") -> None:
    """Serve over HTTP until a signal ends it, and say where."""
    from quartermaster.serving.http import address_of, configure_logs, listen, serve
    from quartermaster.serving.mcp.http import PATH, http_app

    configure_logs()
    with listen(settings) as socket:
        typer.echo(f"{len(router):,} tools of {router.manifest.snapshot} at {address_of(socket)}{PATH}")
        serve(http_app(served, settings, callers), settings, socket)


def _check_profile(profiles: Path | None, profile: str | None, over_http: bool) -> None:
    """Raise SettingsInvalid where it would not be clear which tools a caller of the MCP server may see."""
    if profile is not None and profiles is None:
        raise SettingsInvalid(f"--profile is {profile!r} and no file defines it: name one with --profiles FILE")
    if profiles is not None and over_http and profile is not None:
        raise SettingsInvalid("--profile is for stdio: over HTTP each token of --profiles has its own")
    if profiles is not None and not over_http and profile is None:
        raise SettingsInvalid(f"--profiles is {str(profiles)!r}: over stdio, say which of them with --profile NAME")
