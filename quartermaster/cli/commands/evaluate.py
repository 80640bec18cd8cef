"""evaluate: how well judged requests are answered."""

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from quartermaster.cli.commands.arguments import (
    WORKSPACE,
    CacheDir,
    Encoder,
    FiguresFile,
    Generator,
    RecipeName,
    SnapshotSource,
    Workspace,
    cache_for,
)
from router import Router

_WORST = 20  # worst requests in the files, unless --worst gives another number


def evaluate(
    bench: Annotated[
        Path, typer.Option(help="A folder with tools.jsonl and queries.jsonl, or a catalog with judgements.")
    ],
    without_expansions: Annotated[bool, typer.Option("--without-expansions", help="Build without expansions.")] = False,
    recipe: RecipeName = None,
    generator: Generator = None,
    encoder: Encoder = None,
    snapshot: SnapshotSource = None,
    against: Annotated[
        Optional[str], typer.Option(help="Another snapshot's or catalog's folder, or an address, to compare with.")
    ] = None,
    against_encoder: Annotated[
        Optional[str],
        typer.Option(help="Also build with this encoder, and compare --encoder with it in quality and cost."),
    ] = None,
    cache_dir: CacheDir = None,
    against_recipe: Annotated[
        Optional[str], typer.Option(help="Another recipe to compare with, on the same snapshot or that of --against.")
    ] = None,
    ablate: Annotated[bool, typer.Option("--ablate", help="Also measure the fused list without each signal.")] = False,
    worst: Annotated[
        Optional[int], typer.Option(min=1, help="List missed steps by cause, and this many of the worst requests.")
    ] = None,
    workspace: Workspace = WORKSPACE,
    json_file: FiguresFile = None,
    html: Annotated[Optional[Path], typer.Option(help="Write a report with plots to this file.")] = None,
    runs: Annotated[
        Optional[Path], typer.Option(help="Write TREC files to this folder: qrels, and a run for each list.")
    ] = None,
) -> None:
    """Measure how well judged requests are answered.

    Shows each signal alone and all of them fused, then the fused list by kind of request. Builds the folder first,
    apart from what serves, unless --snapshot names what to measure. Metrics are means over requests, K = 10; intervals
    are 95 % (bootstrap over requests), p is that of a paired randomisation test.
    """
    from quartermaster import evaluation
    from quartermaster.cli.commands.benches import BuildOptions, build_bench, check_writable, read_bench, write_figures
    from quartermaster.cli.commands.encoders import build_both, encoder_costs, refuse_with_encoders
    from quartermaster.output.evaluation import show_evaluation
    from quartermaster.output.terminal import ProgressBars

    if against_encoder is not None:
        refuse_with_encoders({"--snapshot": snapshot, "--against": against, "--against-recipe": against_recipe})
    judged = read_bench(bench)
    check_writable("--json", json_file)
    check_writable("--html", html)
    check_writable("--runs", runs)
    if html is not None:
        # Imported now, so that a missing extra fails before the measurement.
        from quartermaster.output.report import write_report
    other = built = None
    how: BuildOptions = {"expansions": not without_expansions, "generator": generator}
    with ProgressBars() as bars:
        if against_encoder is not None:
            built = build_both(bench, workspace, bars, (encoder, against_encoder), **how)
            snapshot, against = (str(one.snapshot) for one in built)
        source: Path | str = snapshot or build_bench(bench, workspace, bars, encoder=encoder, **how)
        router = Router.open(source, cache_dir=cache_for(source, cache_dir))
        if against is not None or against_recipe is not None:
            second = router if against is None else Router.open(against, cache_dir=cache_for(against, cache_dir))
            bars.start("evaluate", len(judged.judgements))
            other = evaluation.ask(
                second, judged.judgements, against_recipe or recipe, whole=False, advance=bars.advance
            )
        bars.start("evaluate", len(judged.judgements))
        measured = evaluation.ask(router, judged.judgements, recipe, advance=bars.advance)
        result: dict[str, Any] = evaluation.figures(measured, judged.name)
        if ablate:
            bars.start("ablate", len(judged.judgements) * len(evaluation.removable_signals(measured)))
        result |= {
            "ablation": evaluation.ablate(measured, bars.advance) if ablate else None,
            "against": evaluation.against(measured, other) if other else None,
            "worst": evaluation.worst(measured, worst or (_WORST if json_file or html else 0)),
            "cost": None,
        }
        if built is not None:
            result["cost"], result["against"]["cost"] = encoder_costs(built, judged, workspace, bars)
    if runs is not None:
        evaluation.write_runs(runs, measured)
    if html is not None:
        write_report(html, result)
    if not write_figures(result, json_file):
        show_evaluation(result, worst or 0)
