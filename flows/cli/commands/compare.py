"""compare: recipes and single signals side by side, on one set of judged requests or several."""

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from flows.cli.commands.arguments import WORKSPACE, Workspace
from router import Router
from router.errors import SettingsInvalid


def compare(
    bench: Annotated[list[Path], typer.Option(help="A folder as in evaluate; may be repeated.")],
    recipe: Annotated[
        Optional[list[str]],
        typer.Option(help="A recipe or a single signal; may be repeated, the first is the baseline. By default, all."),
    ] = None,
    snapshot: Annotated[
        Optional[list[Path]], typer.Option(help="Snapshots to compare on one bench, instead of building it.")
    ] = None,
    generator: Annotated[Optional[str], typer.Option(help="As in build.")] = None,
    encoder: Annotated[Optional[str], typer.Option(help="As in build.")] = None,
    workspace: Workspace = WORKSPACE,
    json_file: Annotated[
        Optional[Path], typer.Option("--json", help="Write the figures to this file, or - to print them.")
    ] = None,
) -> None:
    """Compare recipes and single signals side by side.

    Prints a row for each recipe, the best of each column in bold. Rows that differ from the first by more than chance
    are marked (paired randomisation test, corrected for the number of rows). Each bench has a table; several benches
    have a table of means too.
    """
    from flows.cli.commands.judged import build_bench, printed, read_bench, writable
    from flows.output.comparison import show_comparison
    from flows.output.screen import Bars
    from router import evaluation

    writable("--json", json_file)
    if snapshot and len(bench) > 1:
        raise SettingsInvalid(
            "--snapshot can be measured on one --bench only: give one --bench, or leave out --snapshot to build each"
        )
    judged = [read_bench(folder) for folder in bench]
    compared: list[dict[str, Any]] = []
    with Bars() as bars:
        for one in judged:
            built = snapshot or [build_bench(one.folder, workspace, bars, generator=generator, encoder=encoder)]
            routers = [Router.open(folder) for folder in built]
            rows = [(router, found) for router in routers for found in evaluation.recipes_to_compare(router, recipe)]
            bars.start("evaluate", len(one.judgements) * len(rows))
            measured = [
                evaluation.ask(router, one.judgements, found, whole=False, advance=bars.advance)
                for router, found in rows
            ]
            ranked = evaluation.comparison_rows(measured)
            compared.append({"bench": one.name, "queries": len(one.judgements), "rows": ranked})
    result = {"benches": compared, "mean": evaluation.mean_rows(compared)}
    if not printed(result, json_file):
        show_comparison(result)
