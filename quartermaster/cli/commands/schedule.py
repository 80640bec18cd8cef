"""schedule: a snapshot every night."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from quartermaster.cli.commands.arguments import WORKSPACE, Encoder, Generator, Workspace
from quartermaster.cli.commands.permission import AllowCommands, NoCommands, permit_commands


def schedule(
    path: Annotated[Path, typer.Argument(help="What to build, as in build.")],
    cron: Annotated[str, typer.Option(help="When, as in crontab: minute, hour, day, month, weekday.")] = "0 2 * * *",
    timezone: Annotated[str, typer.Option(help="Time zone of the cron expression, such as Europe/Berlin.")] = "UTC",
    workspace: Workspace = WORKSPACE,
    generator: Generator = None,
    encoder: Encoder = None,
    provider: Annotated[Optional[str], typer.Option(help="As in build.")] = None,
    max_cost: Annotated[Optional[float], typer.Option(help="The most US dollars that each build may spend.")] = None,
    max_tools: Annotated[Optional[int], typer.Option(help="The most tools to ask a model about in each build.")] = None,
    batch: Annotated[bool, typer.Option("--batch", help="As in build.")] = False,
    skip_unreadable: Annotated[bool, typer.Option("--skip-unreadable", help="As in build.")] = False,
    allow_commands: AllowCommands = False,
    no_commands: NoCommands = False,
    no_evaluate: Annotated[
        bool, typer.Option("--no-evaluate", help="Do not measure new snapshots on the catalog's judgements.")
    ] = False,
) -> None:
    """Build a catalog every night, until interrupted.

    The build is served as a Prefect deployment. Uses the Prefect server that is configured (PREFECT_API_URL), else
    starts one that ends with this command. To let a work pool run the builds instead, see prefect.yaml.
    """
    from flows.schedule import next_runs, serve_nightly
    from pipeline.settings import load, overrides, with_provider, without_commands
    from quartermaster.output.terminal import ProgressBars, say

    mode = "batch" if batch else None
    skip = skip_unreadable or None
    settings = with_provider(load(path, overrides(generator, encoder, max_cost, max_tools, mode, skip)), provider)
    settings = without_commands(settings) if no_commands else settings
    permit_commands(settings, allow=allow_commands)
    times = next_runs(cron, timezone)
    bars = ProgressBars()

    def ready(server: str) -> None:
        bars.stop()
        say(f"Building {settings.name} at {cron!r}: next {', then '.join(times)}")
        say(f"Runs, logs and artifacts: {server}   Stop: Ctrl-C")

    with bars:
        bars.start("engine", None)
        serve_nightly(
            path,
            settings,
            workspace,
            cron=cron,
            timezone=timezone,
            ready=ready,
            generator=generator,
            encoder=encoder,
            provider=provider,
            max_cost=max_cost,
            max_tools=max_tools,
            mode=mode,
            skip_unreadable=skip,
            allow_commands=allow_commands,
            no_commands=no_commands,
            evaluate=not no_evaluate,
        )
