"""serve http: JSON, and pages to look with. The options here are of `serve mcp` too."""

import os
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.store import last_built
from quartermaster.cli.commands.options import SignedSource, TrustState, cache_for, load_selection, required_keys
from router import Router, Selection
from router.errors import SettingsInvalid

if TYPE_CHECKING:
    from pipeline.inspection.reading import Inspection
    from quartermaster.serving.http import HttpSettings, Served
    from router import FeedbackLog

_TOKEN_VARIABLE = "QUARTERMASTER_TOKEN"  # noqa: S105 - the name of a variable


@dataclass(frozen=True, kw_only=True)
class ServedSource(SignedSource):
    """Which snapshot is served, and what is made and kept of its answers."""

    trust_state: TrustState = None
    watch: Annotated[float, "Seconds between two looks for a new snapshot; 0: never."] = 5.0
    vendor_text: Annotated[
        str, "Vendors' text that agents get: trusted (without prompt injection and hidden characters) or verbatim."
    ] = "trusted"
    feedback: Annotated[Path | None, "A folder that keeps what was offered and called, for builds to learn from."] = (
        None
    )
    feedback_texts: Annotated[bool, "Keep the requests' texts too: without them nothing can be learned."] = False
    ask_needs: Annotated[
        str | None,
        "The name of a model that says what requests need, where callers do not: at the server of builds "
        "(OPENAI_BASE_URL, OPENAI_API_KEY), which gets the requests' texts.",
    ] = None

    def serving(self, place: Path | str, selection: Selection | None, **options: Any) -> Router:
        """Return a router over what `place` named when the server started."""
        return Router.open(
            place,
            watch=self.watch or None,
            cache_dir=cache_for(place, self.cache_dir),
            selection=selection,
            vendor_text=self.vendor_text,
            **self.trust(self.trust_state),
            **self.logged_and_asked(),
            **options,
        )

    @property
    def is_empty(self) -> bool:
        """Return whether the options name no snapshot, nor whose signature it must have, and the workspace has none."""
        named = self.snapshot or self.catalog or required_keys(self.trusted_keys)
        return named is None and last_built(self.workspace) is None

    def logged_and_asked(self) -> dict[str, Any]:
        """Return the feedback log and the model that a router is given. Raises SettingsInvalid."""
        from quartermaster.needs import ModelNeeds

        asked = None if self.ask_needs is None else ModelNeeds(self.ask_needs)
        return {"feedback": feedback_log(self.feedback, self.feedback_texts), "ask_needs": asked}


@dataclass(frozen=True, kw_only=True)
class Listening:
    """Where a server listens, and the limits for its clients."""

    host: Annotated[str, "The address to listen at."] = "127.0.0.1"
    port: Annotated[int, "The port; 0 picks a free one."] = 8080
    token: Annotated[
        str | None,
        typer.Option(envvar=_TOKEN_VARIABLE, help="Require this bearer token; better set in the environment."),
    ] = None
    allow_host: Annotated[list[str] | None, "A host name that requests may use; may be repeated."] = None
    max_request_bytes: Annotated[int, "The largest request body, in bytes."] = 1_048_576
    requests_per_minute: Annotated[int, "The limit for each client address; 0: none."] = 6_000
    max_connections: Annotated[int, "The most open connections."] = 512
    max_connections_per_client: Annotated[int, "The most of one address, such as a proxy's."] = 128
    insecure: Annotated[bool, "Listen beyond this machine without a token."] = False
    profiles: Annotated[
        Path | None, "A TOML file of profiles and tokens: each token sees only its profile's tools."
    ] = None

    def settings(self) -> "HttpSettings":
        """Return the settings of the server.

        Typer takes an empty variable for none. The settings must refuse it instead: a secret that was not filled in
        does not permit serving without a token.
        """
        from quartermaster.serving.http import HttpSettings

        given = asdict(self) | {"token": os.environ.get(_TOKEN_VARIABLE) if self.token is None else self.token}
        given["hosts"] = tuple(given.pop("allow_host") or ())
        given["requests_per_minute"] = self.requests_per_minute or None
        return HttpSettings(**given)


@dataclass(frozen=True, kw_only=True)
class HttpListening(Listening):
    """Where the HTTP server listens, what its clients may change, and how long it waits for them."""

    overlay: Annotated[Path | None, "Let clients with the token register tools; they are saved in this file."] = None
    suggestions: Annotated[
        Path | None, "Let visitors of the pages suggest phrases; they wait in this file: quartermaster phrases list."
    ] = None
    header_timeout_s: Annotated[float, "Seconds for the headers of a request to arrive."] = 10.0
    body_timeout_s: Annotated[float, "Seconds for the body of a request to arrive."] = 10.0
    answer_timeout_s: Annotated[float, "Seconds for a client to read an answer."] = 60.0
    max_wildcards: Annotated[int, "The most marks * ? [ in the globs of one request."] = 100
    workers: Annotated[int, "How many processes answer; SIGHUP replaces them one by one."] = 1
    stale_after_s: Annotated[
        float | None,
        "Seconds without knowing that the newest snapshot serves, after which /readyz says stale: 300, or "
        "three times --watch where that is longer.",
    ] = None
    unready_when_stale: Annotated[bool, "Then answer 503 at /readyz, so that another host is asked."] = False


def http(
    source: ServedSource,
    listening: HttpListening,
    selection: Annotated[Path | None, "A TOML or JSON file of filters, for requests that bring none."] = None,
    request_cache: Annotated[int, "How many request vectors to cache."] = 0,
) -> None:
    """Serve over HTTP: JSON under /v1, a web page at /, health, metrics.

    New snapshots are served without a restart. SIGTERM ends the server once the requests under way are answered.

    \b
    quartermaster serve http &
    curl -s localhost:8080/v1/route -H 'Content-Type: application/json' \\
      -d '{"request": "give the customer half of the money back", "k": 3}'
    open http://localhost:8080/
    """
    from quartermaster.serving.http import address_of, app, configure_logs, listen, serve, serve_workers

    settings, workers = listening.settings(), listening.workers
    if settings.unready_when_stale and not source.watch:
        raise SettingsInvalid("--unready-when-stale needs --watch: nothing looks for a newer snapshot with --watch 0")
    open_one = partial(open_served, source, source.place(), selection, listening.overlay, request_cache)
    if workers > 1:
        with listen(settings) as socket:
            address = address_of(socket)
            configure_logs(workers=True)
            serve_workers(
                open_one, settings, socket, lambda served: typer.echo(f"{served} at {address} with {workers} workers")
            )
        return
    served = open_one()
    with served.router as router, listen(settings) as socket:
        application = app(router, settings, inspect=served.inspect)
        configure_logs()
        typer.echo(f"{len(router):,} tools of {router.manifest.snapshot} at {address_of(socket)}")
        serve(application, settings, socket)


def open_served(
    source: ServedSource, place: Path | str, selection: Path | None, overlay: Path | None, request_cache: int
) -> "Served":
    """Return the router of a process. Each worker calls it, and so reads the files that the options name anew.

    Raises QuartermasterError where it cannot be opened.
    """
    from quartermaster.serving.http import Served

    saved = overlay if overlay and overlay.exists() else None  # the first change writes it
    router = source.serving(place, load_selection(selection), overlay=saved, request_cache=request_cache)
    return Served(router=router, inspect=open_inspection)


def open_inspection(folder: Path) -> "Inspection":
    """Return a snapshot's inspection database, opened. Raises QuartermasterError if it is missing."""
    from pipeline.inspection.reading import Inspection

    return Inspection.open(folder)


def feedback_log(folder: Path | None, texts: bool) -> "FeedbackLog | None":
    """Return the feedback log that the options ask for. Raises SettingsInvalid for texts without a folder."""
    from router import FeedbackLog

    if folder is not None:
        return FeedbackLog(folder, texts=texts)
    if texts:
        raise SettingsInvalid("--feedback-texts is given and there is no log: name its folder with --feedback FOLDER")
    return None
