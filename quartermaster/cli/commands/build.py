"""build: a snapshot now."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from pipeline.progress import Progress
from quartermaster.cli.commands.arguments import WORKSPACE, JsonOutput, Workspace
from quartermaster.cli.commands.permission import AllowCommands, NoCommands, permit_commands, show_commands
from quartermaster.cli.failure import ServerLost
from quartermaster.output.logs import (
    FORMAT_VARIABLE,
    LEVEL_VARIABLE,
    LogFormat,
    LoggedProgress,
    LogLevel,
    logging_to_stderr,
)

if TYPE_CHECKING:
    from pipeline.build.report import BuildReport


def build(
    path: Annotated[Path, typer.Argument(help="A catalog folder, or a file or folder of tool definitions.")],
    workspace: Workspace = WORKSPACE,
    generator: Annotated[Optional[str], typer.Option(help="auto, openai, lexicon or none.")] = None,
    encoder: Annotated[
        Optional[str], typer.Option(help="auto, none, minilm-tools-v1, all-MiniLM-L6-v2, a model's name or folder.")
    ] = None,
    provider: Annotated[
        Optional[str], typer.Option(help="The label that starts every tool's id, such as github.")
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what the model would be asked, and the price; ask nothing.")
    ] = False,
    max_cost: Annotated[
        Optional[float], typer.Option(help="The most US dollars to spend; later builds ask about the rest.")
    ] = None,
    max_tools: Annotated[Optional[int], typer.Option(help="The most tools to ask a model about.")] = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="Use the Batch API: half the price, answers within a day.")
    ] = False,
    skip_unreadable: Annotated[
        bool, typer.Option("--skip-unreadable", help="Build without the sources that cannot be read, and name them.")
    ] = False,
    allow_commands: AllowCommands = False,
    no_commands: NoCommands = False,
    force: Annotated[bool, typer.Option("--force", help="Write a snapshot even if nothing changed.")] = False,
    flow: Annotated[
        bool, typer.Option("--flow", help="Run it as a Prefect flow: retries, time-outs, artifacts, an evaluation.")
    ] = False,
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
    (OPENAI_BASE_URL) a lexicon writes the expansions: free, but weaker. It also writes for the tools that a budget
    leaves over, until a later build asks the model.

    An encoder is exported once and kept for all workspaces, in the user's cache folder (~/.cache/quartermaster on
    Linux) or in QUARTERMASTER_CACHE. You may delete what lies there at any time.
    """
    from pipeline.build import build as build_snapshot
    from pipeline.build import failures_announced
    from pipeline.build.plan import plan as plan_build
    from pipeline.settings import CatalogSettings, left_out, load, overrides, with_provider, without_commands
    from quartermaster.output.build import show_report
    from quartermaster.output.plan import show_plan
    from quartermaster.output.sources import show_unread
    from quartermaster.output.terminal import ProgressBars, err, print_json, tell

    mode = "batch" if batch else None
    skip = skip_unreadable or None

    def load_settings() -> CatalogSettings:
        settings = load(path, overrides(generator, encoder, max_cost, max_tools, mode, skip))
        settings = with_provider(settings, provider)
        settings = without_commands(settings) if no_commands else settings
        show_unread(left_out(path, settings))
        return settings

    if plan:
        settings = load_settings()
        show_commands(settings)
        with ProgressBars() as bars:
            planned = plan_build(settings, workspace=workspace, progress=bars)
        if as_json:
            print_json(planned.to_json())
        else:
            show_plan(planned)
        return
    with logging_to_stderr(log_format, log_level, summary=not as_json), ExitStack() as shown:
        drawn = err.is_terminal and log_format is LogFormat.TEXT
        progress: Progress = shown.enter_context(ProgressBars()) if drawn else LoggedProgress()
        with failures_announced(path):
            settings = load_settings()
            permit_commands(settings, allow=allow_commands)
            if flow:
                report = _run_flow(
                    progress,
                    path,
                    workspace,
                    generator=generator,
                    encoder=encoder,
                    force=force,
                    max_cost=max_cost,
                    max_tools=max_tools,
                    mode=mode,
                    skip_unreadable=skip,
                    provider=provider,
                    no_commands=no_commands,
                )
            else:
                if settings.flow.runner != "none":
                    progress.note(
                        f"flow.runner = {settings.flow.runner!r} is for --flow: this build runs in one process"
                    )
                report = build_snapshot(settings, workspace=workspace, force=force, progress=progress)
        shown.close()
        if as_json:
            print_json(report.to_json())
        else:
            show_report(report, reasons=log_format is LogFormat.TEXT)
            tell(str(report.snapshot), "bold")
    if report.exit_code:
        raise typer.Exit(report.exit_code)


def _run_flow(bars: Progress, path: Path, workspace: Path, **parameters: Any) -> "BuildReport":
    """Run the build as a flow in this process, on the configured Prefect server or one that ends with it.

    `parameters` are the flow's others. Raises the errors of the build.
    """
    bars.start("engine", None)
    from flows.runtime import configure_prefect, server, shown_on

    configure_prefect(at_terminal=True)
    import httpx
    from prefect.exceptions import PrefectException

    from flows.build_catalog import build_catalog

    try:
        with server(), shown_on(bars):
            state: Any = build_catalog(str(path), str(workspace), **parameters, return_state=True)
        outcome: BuildReport | BaseException = state.result(raise_on_failure=False)
    except (httpx.HTTPError, PrefectException) as error:
        raise ServerLost(
            f"the Prefect server was lost ({type(error).__name__}: {error}): start it and build again. What was paid "
            "for is in the ledger, and what was published serves"
        ) from error
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
