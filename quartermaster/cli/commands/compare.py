"""compare: recipes and single signals side by side, on one set of judged requests or several."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from quartermaster.cli.commands.arguments import (
    WORKSPACE,
    CacheDir,
    Encoder,
    FiguresFile,
    Generator,
    Workspace,
    cache_for,
)
from router import Router
from router.errors import SettingsInvalid


def compare(
    bench: Annotated[list[Path], typer.Option(help="A folder as in evaluate; may be repeated.")],
    recipe: Annotated[
        Optional[list[str]],
        typer.Option(help="A recipe or a single signal; may be repeated, the first is the baseline. By default, all."),
    ] = None,
    snapshot: Annotated[
        Optional[list[str]],
        typer.Option(help="Snapshots to compare on one bench, instead of building it: folders, or addresses."),
    ] = None,
    cache_dir: CacheDir = None,
    generator: Generator = None,
    encoder: Encoder = None,
    workspace: Workspace = WORKSPACE,
    json_file: FiguresFile = None,
) -> None:
    """Compare recipes and single signals side by side.

    Prints a row for each recipe, the best of each column in bold. Rows that differ from the first by more than chance
    are marked (paired randomisation test, corrected for the number of rows). Each bench has a table; several benches
    have a table of means too.
    """
    from quartermaster import evaluation
    from quartermaster.cli.commands.benches import build_bench, check_writable, read_bench, write_figures
    from quartermaster.output.comparison import show_comparison
    from quartermaster.output.terminal import ProgressBars

    check_writable("--json", json_file)
    if snapshot and len(bench) > 1:
        raise SettingsInvalid(
            "--snapshot can be measured on one --bench only: give one --bench, or leave out --snapshot to build each"
        )
    benches = [read_bench(folder) for folder in bench]
    compared: list[dict[str, Any]] = []
    with ProgressBars() as bars:
        for judged in benches:
            sources: Sequence[str | Path] = snapshot or [
                build_bench(judged.folder, workspace, bars, generator=generator, encoder=encoder)
            ]
            routers = [Router.open(source, cache_dir=cache_for(source, cache_dir)) for source in sources]
            candidates = [
                (router, name) for router in routers for name in evaluation.recipes_to_compare(router, recipe)
            ]
            bars.start("evaluate", len(judged.judgements) * len(candidates))
            measured = [
                evaluation.ask(router, judged.judgements, name, whole=False, advance=bars.advance)
                for router, name in candidates
            ]
            compared.append(
                {"bench": judged.name, "queries": len(judged.judgements), "rows": evaluation.comparison_rows(measured)}
            )
    result = {"benches": compared, "mean": evaluation.mean_rows(compared)}
    if not write_figures(result, json_file):
        show_comparison(result)
