"""serve http: JSON, and pages to look with."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from quartermaster.cli.commands.arguments import (
    WORKSPACE,
    CacheDir,
    Catalog,
    Insecure,
    SnapshotSource,
    TrustedKeys,
    TrustOptions,
    TrustStateFile,
    Watch,
    Workspace,
    cache_for,
    load_selection,
    source_of,
    trust_options,
)
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

if TYPE_CHECKING:
    from pipeline.inspection.results import ToolInspection
    from quartermaster.serving.http import Served


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
    workers: Annotated[int, typer.Option(help="How many processes answer; SIGHUP replaces them one by one.")] = 1,
    stale_after: Annotated[
        Optional[float],
        typer.Option(
            help="Seconds without knowing that the newest snapshot serves, after which /readyz says stale: 300, or "
            "three times --watch where that is longer."
        ),
    ] = None,
    unready_when_stale: Annotated[
        bool, typer.Option("--unready-when-stale", help="Then answer 503 at /readyz, so that another host is asked.")
    ] = False,
) -> None:
    """Serve over HTTP: JSON under /v1, a web page at /, health, metrics.

    New snapshots are served without a restart. SIGTERM ends the server once the requests under way are answered.

    \b
    quartermaster serve http &
    curl -s localhost:8080/v1/route -H 'Content-Type: application/json' \\
      -d '{"request": "give the customer half of the money back", "k": 3}'
    open http://localhost:8080/
    """
    from quartermaster.serving.http import (
        HttpSettings,
        address_of,
        app,
        configure_logs,
        listen,
        serve,
        serve_workers,
    )

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
        workers=workers,
        stale_after_s=stale_after,
        unready_when_stale=unready_when_stale,
    )
    if unready_when_stale and not watch:
        raise SettingsInvalid("--unready-when-stale needs --watch: nothing looks for a newer snapshot with --watch 0")
    source = source_of(snapshot, workspace, catalog)
    open_served = OpenServed(
        source=source,
        watch=watch or None,
        cache_dir=cache_for(source, cache_dir),
        request_cache=request_cache,
        selection=selection,
        overlay=overlay,
        trust=trust_options(trusted_keys, trust_state, snapshot, catalog),
        vendor_text=vendor_text,
        feedback=feedback,
        feedback_texts=feedback_texts,
    )
    if workers > 1:
        with listen(settings) as listening:
            address = address_of(listening)
            configure_logs(workers=True)
            serve_workers(
                open_served,
                settings,
                listening,
                lambda served: typer.echo(f"{served} at {address} with {workers} workers"),
            )
        return
    served = open_served()
    with served.router as router, listen(settings) as listening:
        application = app(router, settings, inspect=served.inspect)
        configure_logs()
        typer.echo(f"{len(router):,} tools of {router.manifest.snapshot} at {address_of(listening)}")
        serve(application, settings, listening)


@dataclass(frozen=True, kw_only=True)
class OpenServed:
    """Opens what the options name. Each worker calls it, and so reads the files that they name anew."""

    source: Path | str
    watch: Optional[float]
    cache_dir: Optional[Path]
    request_cache: int
    selection: Optional[Path]
    overlay: Optional[Path]
    trust: TrustOptions
    vendor_text: str
    feedback: Optional[Path]
    feedback_texts: bool

    def __call__(self) -> "Served":
        """Open the router. Raises QuartermasterError where it cannot be opened."""
        from quartermaster.serving.http import Served
        from router import Router

        router = Router.open(
            self.source,
            watch=self.watch,
            cache_dir=self.cache_dir,
            request_cache=self.request_cache,
            selection=load_selection(self.selection),
            overlay=self.overlay if self.overlay and self.overlay.exists() else None,  # the first change writes it
            **self.trust,
            vendor_text=self.vendor_text,
            feedback=feedback_log(self.feedback, self.feedback_texts),
        )
        return Served(router=router, inspect=inspect_tool)


def inspect_tool(folder: Path, tool_id: str) -> "ToolInspection":
    """Return what a snapshot's inspection database knows of a tool. Raises QuartermasterError if it is missing."""
    from pipeline.inspection.reading import Inspection

    with Inspection.open(folder) as inspection:
        return inspection.tool(tool_id)
