"""serve mcp: three tools in front of a catalog, over stdio or HTTP."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from quartermaster.cli.commands.arguments import (
    WORKSPACE,
    CacheDir,
    Catalog,
    Insecure,
    SnapshotSource,
    TrustedKeys,
    TrustStateFile,
    Watch,
    Workspace,
    cache_for,
    load_selection,
    source_of,
    trust_options,
)
from quartermaster.cli.commands.permission import AllowCommands
from quartermaster.cli.commands.serve.options import (
    TOKEN_VARIABLE,
    Feedback,
    FeedbackTexts,
    Profiles,
    VendorTextOption,
    feedback_log,
    token_or_empty,
)
from router.errors import SettingsInvalid

CallsFile = Annotated[
    Optional[Path],
    typer.Option("--calls", help="A TOML or JSON file of HTTP APIs, [provider.NAME]: their operations can be called."),
]


def mcp(
    catalog: Catalog = None,
    workspace: Workspace = WORKSPACE,
    snapshot: SnapshotSource = None,
    cache_dir: CacheDir = None,
    catalog_folder: Annotated[
        Optional[Path], typer.Option(help="A catalog's folder: the tools of its live MCP servers can be called.")
    ] = None,
    upstream: Annotated[
        Optional[Path], typer.Option(help='A file of MCP servers, {"mcpServers": …}: their tools can be called.')
    ] = None,
    calls: CallsFile = None,
    connect: Annotated[
        bool,
        typer.Option(
            "--connect", help="Start those servers now, not at the first call, and serve the tools that they list."
        ),
    ] = False,
    allow_commands: AllowCommands = False,
    selection: Annotated[
        Optional[Path],
        typer.Option(help="A TOML or JSON file of filters: what they leave out is neither found nor called."),
    ] = None,
    vendor_text: VendorTextOption = "trusted",
    watch: Watch = 5.0,
    trusted_keys: TrustedKeys = None,
    trust_state: TrustStateFile = None,
    over_http: Annotated[bool, typer.Option("--http", help="Over streamable HTTP at /mcp, instead of stdio.")] = False,
    host: Annotated[str, typer.Option(help="With --http: the address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="With --http: the port; 0 picks a free one.")] = 8081,
    token: Annotated[
        Optional[str],
        typer.Option(
            envvar=TOKEN_VARIABLE, help="With --http: require this bearer token; better set in the environment."
        ),
    ] = None,
    allow_host: Annotated[
        Optional[list[str]], typer.Option(help="With --http: a host name that requests may use.")
    ] = None,
    max_message_bytes: Annotated[int, typer.Option(help="Over stdio: the largest message of the client.")] = 16_777_216,
    max_request_bytes: Annotated[
        int, typer.Option(help="With --http: the largest request body, in bytes.")
    ] = 1_048_576,
    requests_per_minute: Annotated[
        int, typer.Option(help="With --http: the limit for each client address; 0: none.")
    ] = 6_000,
    max_connections: Annotated[int, typer.Option(help="With --http: the most open connections.")] = 512,
    max_connections_per_client: Annotated[int, typer.Option(help="With --http: the most of one address.")] = 128,
    insecure: Insecure = False,
    profiles: Profiles = None,
    profile: Annotated[
        Optional[str], typer.Option(help="Over stdio, with --profiles: the profile of whoever starts this server.")
    ] = None,
    feedback: Feedback = None,
    feedback_texts: FeedbackTexts = False,
) -> None:
    """Serve as an MCP server with three tools: find_tools, describe_tool, call_tool.

    An agent finds the few tools that fit, and calls them through this server, which passes calls on to their own.

    \b
    quartermaster serve mcp --catalog-folder catalogs/mcp --allow-commands
    quartermaster serve mcp --upstream servers.json --http
    quartermaster serve mcp --calls calls.toml             the operations of OpenAPI documents
    """
    from quartermaster.calling import ApiCalls, read_call_settings
    from quartermaster.serving.mcp import read_upstreams, serve_stdio, server
    from quartermaster.serving.profiles import Callers
    from router import Router

    _check_profile(profiles, profile, over_http)
    upstreams = read_upstreams(upstream) if upstream else ()
    if catalog_folder:
        from quartermaster.cli.commands.upstreams import catalog_upstreams

        upstreams += catalog_upstreams(catalog_folder, allow_commands=allow_commands)
    apis = ApiCalls(read_call_settings(calls)) if calls else None
    allowed = load_selection(selection)
    trust = trust_options(trusted_keys, trust_state, snapshot, catalog)
    source = source_of(snapshot, workspace, catalog)
    with Router.open(
        source,
        watch=watch or None,
        cache_dir=cache_for(source, cache_dir),
        selection=allowed,
        vendor_text=vendor_text,
        feedback=feedback_log(feedback, feedback_texts),
        **trust,
    ) as router:
        callers = Callers(profiles, router) if profiles else None
        if callers and profile:
            callers.of_profile(profile)  # a misspelled name is told of now, not to the first request
        mcp_server = server(
            router,
            upstreams,
            selection=allowed,
            connect=connect,
            callers=callers,
            profile=profile,
            calls=apis,
        )
        if not over_http:
            serve_stdio(mcp_server, max_message_bytes=max_message_bytes)
            return
        from quartermaster.serving.http import HttpSettings, address_of, configure_logs, listen
        from quartermaster.serving.http import serve as serve_app
        from quartermaster.serving.mcp.http import PATH, http_app

        settings = HttpSettings(
            host=host,
            port=port,
            token=token_or_empty(token),
            hosts=tuple(allow_host or ()),
            insecure=insecure,
            max_request_bytes=max_request_bytes,
            requests_per_minute=requests_per_minute or None,
            max_connections=max_connections,
            max_connections_per_client=max_connections_per_client,
            profiles=profiles,
        )
        configure_logs()
        with listen(settings) as listening:
            address = f"{address_of(listening)}{PATH}"
            typer.echo(f"{len(router):,} tools of {router.manifest.snapshot} at {address}")
            serve_app(http_app(mcp_server, settings, callers), settings, listening)


def _check_profile(profiles: Optional[Path], profile: Optional[str], over_http: bool) -> None:
    """Raise SettingsInvalid where it would not be clear which tools a caller of the MCP server may see."""
    if profile is not None and profiles is None:
        raise SettingsInvalid(f"--profile is {profile!r} and there is no file of it: name one with --profiles FILE")
    if profiles is not None and over_http and profile is not None:
        raise SettingsInvalid("--profile is for stdio: over HTTP each token of --profiles has its own")
    if profiles is not None and not over_http and profile is None:
        raise SettingsInvalid(f"--profiles is {str(profiles)!r}: over stdio, say which of them with --profile NAME")
