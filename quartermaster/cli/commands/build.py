"""build and schedule: a snapshot now, or every night."""

from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.progress import Progress
from quartermaster.cli.commands.options import WORKSPACE, JsonOutput, Workspace, require_model
from quartermaster.cli.commands.sources import AllowCommands, permit, show_permissions
from quartermaster.cli.failure import ServerLost
from quartermaster.output.logs import (
    FORMAT_VARIABLE,
    LEVEL_VARIABLE,
    LogFormat,
    LoggedProgress,
    LogLevel,
    logging_to_stderr,
)
from quartermaster.output.terminal import ProgressBars, err, print_err, print_json, print_out

if TYPE_CHECKING:
    from pipeline.build.report import BuildReport
    from pipeline.settings import CatalogSettings


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """How a catalog is built, now or every night."""

    workspace: Workspace = WORKSPACE
    generator: Annotated[str | None, "auto, openai or none."] = None
    encoder: Annotated[str | None, "auto, none, bge, multilingual, minilm-tools-v1, a model's id or folder."] = None
    provider: Annotated[str | None, "The label that starts every tool's id, such as github."] = None
    max_cost: Annotated[float | None, "The most US dollars for a build to spend; later ones ask about the rest."] = None
    max_tools: Annotated[int | None, "The most tools to ask a model about in a build."] = None
    batch: Annotated[bool, "Use the Batch API: half the price, answers within a day."] = False
    skip_unreadable: Annotated[bool, "Build without the sources that cannot be read, and name them."] = False
    allow_commands: AllowCommands = False
    no_commands: Annotated[
        bool, "Run no command, and send no new variable: such a source keeps its last known records, or is left out."
    ] = False

    def settings(self, path: Path) -> "CatalogSettings":
        """Return the settings of a catalog with these options in place of its own. Raises SettingsInvalid."""
        from pipeline.settings import load, overrides, with_provider
        from pipeline.sources.transport.approval import without_commands

        mode, skip = "batch" if self.batch else None, self.skip_unreadable or None
        over = overrides(self.generator, self.encoder, self.max_cost, self.max_tools, mode, skip)
        settings = with_provider(load(path, over), self.provider)
        return without_commands(settings) if self.no_commands else settings

    def permit(self, settings: "CatalogSettings") -> None:
        """Ask for permission of what is new in the build; for none where it does only what was allowed.

        Raises SettingsInvalid at once where a model is asked for that cannot be reached.
        """
        require_model(self.generator, settings.enrichment)
        if not self.no_commands:
            permit(settings, allow=self.allow_commands)

    def of_flow(self) -> dict[str, Any]:
        """Return the options as parameters of the flow, for a build whose commands were permitted."""
        given = asdict(self)
        for name in ("workspace", "batch", "allow_commands"):
            del given[name]
        return {**given, "mode": "batch" if self.batch else None, "skip_unreadable": self.skip_unreadable or None}


def build(
    path: Annotated[Path, typer.Argument(help="A catalog folder, or a file or folder of tool definitions.")],
    how: BuildOptions,
    plan: Annotated[bool, "Show what the model would be asked, and the price; ask nothing."] = False,
    force: Annotated[bool, "Write a snapshot even if nothing changed."] = False,
    flow: Annotated[bool, "Run it as a Prefect flow: retries, time-outs, artifacts, an evaluation."] = False,
    log_format: Annotated[
        LogFormat, typer.Option(envvar=FORMAT_VARIABLE, help="How the log on standard error is written.")
    ] = LogFormat.TEXT,
    log_level: Annotated[
        LogLevel, typer.Option(envvar=LEVEL_VARIABLE, help="The least level that is logged.")
    ] = LogLevel.INFO,
    as_json: JsonOutput = False,
) -> None:
    """Build a catalog's snapshot and publish it. Prints the snapshot's folder last.

    PATH is a folder with catalog.toml, or one file or folder of a known format: OpenAPI or Swagger (JSON, YAML),
    function schemas, a saved MCP tools/list answer, JSONL (with expansions.jsonl beside it, if there is one).

    A second build asks the model about, and embeds, only what changed. Without a key (OPENAI_API_KEY) or a base URL
    (OPENAI_BASE_URL) tools are indexed with a lexicon's words in place of expansions: free, but weaker. So are the
    tools that a budget leaves over, until a later build asks the model.

    An encoder is exported once and kept for all workspaces, in the user's cache folder (~/.cache/quartermaster on
    Linux) or in QUARTERMASTER_CACHE. You may delete what lies there at any time.
    """
    from pipeline.build import build as build_snapshot
    from pipeline.build import failures_announced
    from quartermaster.output.build import show_report

    if plan:
        _plan(path, how, as_json=as_json)
        return
    with logging_to_stderr(log_format, log_level, summary=not as_json), ExitStack() as shown:
        drawn = err.is_terminal and log_format is LogFormat.TEXT
        progress: Progress = shown.enter_context(ProgressBars()) if drawn else LoggedProgress()
        with failures_announced(path, how.workspace, allow=how.allow_commands):
            settings = _loaded(path, how)
            how.permit(settings)
            if flow:
                report = _run_flow(progress, path, how, force=force)
            else:
                if settings.flow.runner != "none":
                    progress.note(
                        f"flow.runner = {settings.flow.runner!r} is for --flow: this build runs in one process"
                    )
                report = build_snapshot(settings, workspace=how.workspace, force=force, progress=progress)
        shown.close()
        if as_json:
            print_json(report.to_json())
        else:
            show_report(report, reasons=log_format is LogFormat.TEXT)
            _say_what_answers(how.workspace, settings.name)
            print_out(str(report.snapshot), "bold")
    if report.exit_code:
        raise typer.Exit(report.exit_code)


def _loaded(path: Path, how: BuildOptions) -> "CatalogSettings":
    """Return the settings of a catalog, and name the files that they leave out."""
    from pipeline.settings import left_out
    from quartermaster.output.sources import show_unread

    settings = how.settings(path)
    show_unread(left_out(path, settings))
    return settings


def _plan(path: Path, how: BuildOptions, *, as_json: bool) -> None:
    """Show what a build would ask a model, and the price."""
    from pipeline.build.plan import plan
    from quartermaster.output.build import show_plan

    settings = _loaded(path, how)
    show_permissions(settings)
    with ProgressBars() as bars:
        planned = plan(settings, workspace=how.workspace, progress=bars)
    if as_json:
        print_json(planned.to_json())
    else:
        show_plan(planned)


def _say_what_answers(workspace: Path, built: str) -> None:
    """Say where a workspace of several catalogs has a new one that answers by default."""
    from pipeline.store import catalogs, last_built

    others = [name for name in catalogs(workspace) if name != built]
    if others and last_built(workspace) == built:
        chooses = f"--catalog {others[0]}" if len(others) == 1 else "--catalog NAME"
        print_err(f'search and explain now answer from "{built}"; {chooses} asks another', "yellow")


def _run_flow(bars: Progress, path: Path, how: BuildOptions, *, force: bool) -> "BuildReport":
    """Run the build as a flow in this process, on the configured Prefect server or one that ends with it.

    Raises the errors of the build.
    """
    bars.start("engine", None)
    from flows.runtime import configure_prefect, server, shown_on

    configure_prefect(at_terminal=True)
    import httpx
    from prefect.exceptions import PrefectException

    from flows.build_catalog import build_catalog

    try:
        with server(), shown_on(bars):
            state: Any = build_catalog(str(path), str(how.workspace), force=force, **how.of_flow(), return_state=True)
        outcome: BuildReport | BaseException = state.result(raise_on_failure=False)
    except (httpx.HTTPError, PrefectException) as error:
        raise ServerLost(
            f"the Prefect server was lost ({type(error).__name__}: {error}): start it and build again. What was paid "
            "for is in the ledger, and what was published serves"
        ) from error
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def schedule(
    path: Annotated[Path, typer.Argument(help="What to build, as in build.")],
    how: BuildOptions,
    cron: Annotated[str, "When, as in crontab: minute, hour, day, month, weekday."] = "0 2 * * *",
    timezone: Annotated[str, "Time zone of the cron expression, such as Europe/Berlin."] = "UTC",
    no_evaluate: Annotated[bool, "Do not measure new snapshots on the catalog's judgements."] = False,
) -> None:
    """Build a catalog every night, until interrupted.

    The build is served as a Prefect deployment. Uses the Prefect server that is configured (PREFECT_API_URL), else
    starts one that ends with this command. To let a work pool run the builds instead, see prefect.yaml.
    """
    from flows.schedule import next_runs, serve_nightly

    settings = how.settings(path)
    how.permit(settings)
    times = next_runs(cron, timezone)
    with ProgressBars() as bars:
        bars.start("engine", None)

        def ready(server: str) -> None:
            bars.stop()
            print_err(f"Building {settings.name} at {cron!r}: next {', then '.join(times)}")
            print_err(f"Runs, logs and artifacts: {server}   Stop: Ctrl-C")

        serve_nightly(
            path,
            settings,
            how.workspace,
            cron=cron,
            timezone=timezone,
            ready=ready,
            tell=print_err,
            **how.of_flow(),
            allow_commands=how.allow_commands,
            evaluate=not no_evaluate,
        )
