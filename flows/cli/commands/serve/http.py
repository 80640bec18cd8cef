"""serve http: JSON, and pages to look with."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from flows.cli.commands.arguments import (
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
    catalog_folder,
    load_selection,
    source_of,
    trust_options,
)
from flows.cli.commands.serve.options import (
    TOKEN_VARIABLE,
    Feedback,
    FeedbackTexts,
    Profiles,
    VendorTextOption,
    feedback_log,
    token_or_empty,
)

if TYPE_CHECKING:
    from pipeline.inspection.results import ToolInspection


def http(
    catalog: Catalog = None,
    workspace: Workspace = WORKSPACE,
    snapshot: SnapshotSource = None,
    cache_dir: CacheDir = None,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 picks a free one.")] = 8080,
    token: Annotated[
        Optional[str],
        typer.Option(envvar=TOKEN_VARIABLE, help="Require this bearer token; better set in the environment."),
    ] = None,
    allow_host: Annotated[
        Optional[list[str]], typer.Option(help="A host name that requests may use; may be repeated.")
    ] = None,
    selection: Annotated[
        Optional[Path], typer.Option(help="A TOML or JSON file of filters, for requests that bring none.")
    ] = None,
    watch: Watch = 5.0,
    trusted_keys: TrustedKeys = None,
    trust_state: TrustStateFile = None,
    request_cache: Annotated[int, typer.Option(help="How many request vectors to cache.")] = 0,
    overlay: Annotated[
        Optional[Path], typer.Option(help="Let clients with the token register tools; they are saved in this file.")
    ] = None,
    vendor_text: VendorTextOption = "trusted",
    max_request_bytes: Annotated[int, typer.Option(help="The largest request body, in bytes.")] = 1_048_576,
    requests_per_minute: Annotated[int, typer.Option(help="The limit for each client address; 0: none.")] = 6_000,
    max_connections: Annotated[int, typer.Option(help="The most open connections.")] = 512,
    max_connections_per_client: Annotated[int, typer.Option(help="The most of one address, such as a proxy's.")] = 128,
    header_timeout: Annotated[float, typer.Option(help="Seconds for the headers of a request to arrive.")] = 10.0,
    body_timeout: Annotated[float, typer.Option(help="Seconds for the body of a request to arrive.")] = 10.0,
    answer_timeout: Annotated[float, typer.Option(help="Seconds for a client to read an answer.")] = 60.0,
    max_wildcards: Annotated[int, typer.Option(help="The most marks * ? [ in the globs of one request.")] = 100,
    insecure: Insecure = False,
    profiles: Profiles = None,
    feedback: Feedback = None,
    feedback_texts: FeedbackTexts = False,
) -> None:
    """Serve over HTTP: JSON under /v1, a web page at /, health, metrics.

    New snapshots are served without a restart. SIGTERM ends the server once the requests under way are answered.

    \b
    quartermaster serve http &
    curl -s localhost:8080/v1/route -H 'Content-Type: application/json' \\
      -d '{"request": "give the customer half of the money back", "k": 3}'
    open http://localhost:8080/
    """
    from router import Router
    from router.serving.http import HttpSettings, address_of, app, configure_logs, listen, serve

    settings = HttpSettings(
        host=host,
        port=port,
        token=token_or_empty(token),
        hosts=tuple(allow_host or ()),
        insecure=insecure,
        overlay=overlay,
        max_request_bytes=max_request_bytes,
        requests_per_minute=requests_per_minute or None,
        max_connections=max_connections,
        max_connections_per_client=max_connections_per_client,
        header_timeout_s=header_timeout,
        body_timeout_s=body_timeout,
        answer_timeout_s=answer_timeout,
        max_wildcards=max_wildcards,
        profiles=profiles,
    )
    source = source_of(snapshot, workspace, catalog)
    router = Router.open(
        source,
        watch=watch or None,
        cache_dir=cache_for(source, cache_dir),
        request_cache=request_cache,
        selection=load_selection(selection),
        overlay=overlay if overlay and overlay.exists() else None,  # the first change writes it
        **trust_options(trusted_keys, trust_state, snapshot, catalog),
        vendor_text=vendor_text,
        feedback=feedback_log(feedback, feedback_texts),
    )
    with (
        router,
        listen(settings) as listening,
    ):
        application = app(
            router, settings, folder=catalog_folder(source, cache_dir), inspect=inspect_tool, cost=catalog_cost
        )
        configure_logs()
        typer.echo(f"{len(router):,} tools of {router.manifest.snapshot} at {address_of(listening)}")
        serve(application, settings, listening)


def inspect_tool(folder: Path, tool_id: str) -> "ToolInspection":
    """Return what a snapshot's inspection database knows of a tool. Raises QuartermasterError if it is missing."""
    from pipeline.inspection.reading import Inspection

    with Inspection.open(folder) as inspection:
        return inspection.tool(tool_id)


def catalog_cost(folder: Path) -> Optional[float]:
    """Return what the expansions in use have cost in US dollars, None where a price is unknown.

    Raises QuartermasterError where a snapshot's inspection database is missing or has no costs.
    """
    from pipeline.inspection.reading import Inspection

    with Inspection.open(folder) as inspection:
        ((cost, unpriced),) = inspection.sql("SELECT sum(cost_usd), count(*) - count(cost_usd) FROM expansions").rows
    return None if unpriced or cost is None else float(cost)
