"""evaluate: how well judged requests are answered."""

import json
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from flows.commands.arguments import (
    WORKSPACE,
    At,
    RecipeName,
    Workspace,
)
from router import Router
from router.errors import SettingsInvalid


def evaluate(
    bench: Annotated[
        Path, typer.Option(help="A folder with tools.jsonl and queries.jsonl, or a catalog that is judged.")
    ],
    without_expansions: Annotated[bool, typer.Option("--without-expansions", help="Without any expansions.")] = False,
    recipe: RecipeName = None,
    generator: Annotated[Optional[str], typer.Option(help="As in build.")] = None,
    encoder: Annotated[Optional[str], typer.Option(help="As in build.")] = None,
    snapshot: At = None,
    workspace: Workspace = WORKSPACE,
    json_file: Annotated[
        Optional[Path], typer.Option("--json", help="Write the figures to this file, or - to print them.")
    ] = None,
) -> None:
    """How well judged requests are answered.

    Each signal alone, and fused; then the fused list by slice. Builds the folder first, apart from what serves,
    unless --snapshot names what to measure. Metrics are means over requests, K = 10.
    """
    from flows.screens.screen import Bars, evaluation_table, out
    from router.benchmark import measure
    from router.evaluation import judgements_of, read_judgements

    if bench.is_file():
        raise SettingsInvalid(f"--bench {bench} is a file: name the folder that it lies in")
    file = judgements_of(bench)
    if file is None:
        raise SettingsInvalid(f"{bench} holds neither queries.jsonl nor judgements.jsonl")
    if json_file is not None and not json_file.absolute().parent.is_dir():
        raise SettingsInvalid(f"--json {json_file}: there is no such folder")
    judgements = read_judgements(file)
    with Bars() as bars:
        if snapshot is None:
            snapshot = _build_bench(bench, without_expansions, generator, encoder, workspace, bars)
        router = Router.open(snapshot)
        bars.start("evaluate", len(judgements))
        result = measure(router, judgements, bench=bench.resolve().name, recipe=recipe, advance=bars.advance)
    text = json.dumps(result, indent=2)
    if json_file == Path("-"):
        print(text)
        return
    if json_file is not None:
        json_file.write_text(text + "\n", encoding="utf-8")
    out.print(evaluation_table(result))
    out.print(f"route: p50 {result['latency_ms']['p50']} ms, p95 {result['latency_ms']['p95']} ms", style="dim")


def _build_bench(
    bench: Path, without: bool, generator: str | None, encoder: str | None, workspace: Path, bars: Any
) -> Path:
    from pipeline.build import build as run
    from pipeline.settings import load, overrides

    settings = load(bench, overrides("none" if without else generator, encoder))
    if without:
        enrichment = settings.enrichment.model_copy(update={"expansions": None})
        settings = settings.model_copy(update={"enrichment": enrichment})
    return run(settings, workspace=workspace, area="evaluations", progress=bars).snapshot
