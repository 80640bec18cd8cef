"""compare: recipes and single signals side by side, on one set of judged requests or several."""

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from flows.commands.arguments import WORKSPACE, Workspace
from router import Router
from router.errors import SettingsInvalid


def compare(
    bench: Annotated[list[Path], typer.Option(help="A folder as for evaluate; give several to compare on each.")],
    recipe: Annotated[
        Optional[list[str]],
        typer.Option(help="A recipe, or a signal alone; give several, the first is compared with. Else all of them."),
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
    """Recipes and single signals side by side.

    One row a recipe, the best of each column in bold; rows that differ from the first by more than chance are marked
    (paired randomisation test, corrected for the number of rows). Several benches have a table each, and one of means.
    """
    from flows.commands.judged import build_bench, printed, read_bench, writable
    from flows.screens.comparison import show_comparison
    from flows.screens.screen import Bars
    from router import benchmark

    writable("--json", json_file)
    if snapshot and len(bench) > 1:
        raise SettingsInvalid("--snapshot is measured on one --bench: give one, or leave it out to build each")
    judged = [read_bench(folder) for folder in bench]
    compared: list[dict[str, Any]] = []
    with Bars() as bars:
        for one in judged:
            built = snapshot or [build_bench(one.folder, workspace, bars, generator=generator, encoder=encoder)]
            routers = [Router.open(folder) for folder in built]
            rows = [(router, found) for router in routers for found in benchmark.recipes(router, recipe)]
            bars.start("evaluate", len(one.judgements) * len(rows))
            measured = [
                benchmark.ask(router, one.judgements, found, whole=False, advance=bars.advance)
                for router, found in rows
            ]
            compared.append({"bench": one.name, "queries": len(one.judgements), "rows": benchmark.ranked(measured)})
    result = {"benches": compared, "mean": benchmark.mean(compared)}
    if not printed(result, json_file):
        show_comparison(result)
