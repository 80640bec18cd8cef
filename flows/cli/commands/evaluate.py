"""evaluate: how well judged requests are answered."""

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from flows.cli.commands.arguments import WORKSPACE, At, RecipeName, Workspace
from router import Router

_WORST = 20  # requests that the files list where --worst says no other number


def evaluate(
    bench: Annotated[
        Path, typer.Option(help="A folder with tools.jsonl and queries.jsonl, or a catalog with judgements.")
    ],
    without_expansions: Annotated[bool, typer.Option("--without-expansions", help="Build without expansions.")] = False,
    recipe: RecipeName = None,
    generator: Annotated[Optional[str], typer.Option(help="As in build.")] = None,
    encoder: Annotated[Optional[str], typer.Option(help="As in build.")] = None,
    snapshot: At = None,
    against: Annotated[
        Optional[Path], typer.Option(help="Another snapshot's or catalog's folder, to compare with.")
    ] = None,
    against_recipe: Annotated[
        Optional[str], typer.Option(help="Another recipe to compare with, on the same snapshot or that of --against.")
    ] = None,
    ablate: Annotated[bool, typer.Option("--ablate", help="Also measure the fused list without each signal.")] = False,
    worst: Annotated[
        Optional[int], typer.Option(min=1, help="List this many of the worst requests, with reasons.")
    ] = None,
    workspace: Workspace = WORKSPACE,
    json_file: Annotated[
        Optional[Path], typer.Option("--json", help="Write the figures to this file, or - to print them.")
    ] = None,
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
    from flows.cli.commands.judged import build_bench, printed, read_bench, writable
    from flows.output.evaluation import show_evaluation
    from flows.output.screen import Bars
    from router import evaluation

    judged = read_bench(bench)
    writable("--json", json_file)
    writable("--html", html)
    writable("--runs", runs)
    if html is not None:
        from flows.output.report import (
            write_report,  # now, for an extra that is not there must not cost the measurement
        )
    other = None
    with Bars() as bars:
        if snapshot is None:
            snapshot = build_bench(
                bench, workspace, bars, without=without_expansions, generator=generator, encoder=encoder
            )
        router = Router.open(snapshot)
        if against is not None or against_recipe is not None:
            second = router if against is None else Router.open(against)
            bars.start("evaluate", len(judged.judgements))
            # Without a name of its own, the other snapshot is measured by the same recipe, or by its own as here.
            chosen = against_recipe or recipe
            other = evaluation.ask(second, judged.judgements, chosen, whole=False, advance=bars.advance)
        bars.start("evaluate", len(judged.judgements))
        measured = evaluation.ask(router, judged.judgements, recipe, advance=bars.advance)
        result: dict[str, Any] = evaluation.figures(measured, judged.name)
        if ablate:
            bars.start("ablate", len(judged.judgements) * len(evaluation.removable_signals(measured)))
        result |= {
            "ablation": evaluation.ablate(measured, bars.advance) if ablate else None,
            "against": evaluation.against(measured, other) if other else None,
            "worst": evaluation.worst(measured, worst or (_WORST if json_file or html else 0)),
        }
    if runs is not None:
        evaluation.write_runs(runs, measured)
    if html is not None:
        write_report(html, result)
    if not printed(result, json_file):
        show_evaluation(result, worst or 0)
