"""evaluate and compare: how well queries with qrels are answered, by one snapshot or by several recipes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quartermaster.cli.commands.options import (
    WORKSPACE,
    CacheDir,
    FiguresFile,
    RecipeName,
    SnapshotSource,
    Workspace,
    cache_for,
)
from quartermaster.output.terminal import ProgressBars
from router import Router
from router.errors import SettingsInvalid

if TYPE_CHECKING:
    from quartermaster.cli.commands.benches import BuiltEncoder

_WORST = 20  # worst requests in the files, unless --worst gives another number


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """How a bench is built to be measured, and where its figures go."""

    generator: Annotated[str | None, "As in build."] = None
    encoder: Annotated[str | None, "As in build."] = None
    cache_dir: CacheDir = None
    workspace: Workspace = WORKSPACE
    json_file: FiguresFile = None

    def open(self, place: Path | str) -> Router:
        """Return a router over a snapshot, a catalog or an address."""
        return Router.open(place, cache_dir=cache_for(place, self.cache_dir))


@dataclass(frozen=True, kw_only=True)
class Sides:
    """What is measured, and what it is compared with."""

    recipe: RecipeName = None
    snapshot: SnapshotSource = None
    against: Annotated[str | None, "Another snapshot's or catalog's folder, or an address, to compare with."] = None
    against_encoder: Annotated[
        str | None, "Also build with this encoder, and compare --encoder with it in quality and cost."
    ] = None
    against_recipe: Annotated[
        str | None, "Another recipe to compare with, on the same snapshot or that of --against."
    ] = None

    def check(self) -> None:
        """Raise SettingsInvalid where a side is named beside --against-encoder, which builds both."""
        taken = {"--snapshot": self.snapshot, "--against": self.against, "--against-recipe": self.against_recipe}
        given = " and ".join(option for option, value in taken.items() if value is not None)
        if self.against_encoder is not None and given:
            raise SettingsInvalid(
                f"--against-encoder builds both sides and asks both by one recipe: leave out {given}, or leave out "
                "--against-encoder to compare snapshots or recipes"
            )


def evaluate(
    bench: Annotated[Path, "A folder with tools.jsonl and queries.jsonl, or a catalog with judgements."],
    how: BenchOptions,
    sides: Sides,
    without_expansions: Annotated[bool, "Build without expansions."] = False,
    needs: Annotated[
        Path | None,
        "JSONL of ids and needs: ask these requests with what a caller would state, and compare with each alone.",
    ] = None,
    k: Annotated[
        list[int] | None,
        typer.Option("--k", min=1, max=100, help="Also measure the first so many tools, beside 10. May be repeated."),
    ] = None,
    ablate: Annotated[bool, "Also measure the fused list without each signal."] = False,
    worst: Annotated[
        int | None, typer.Option(min=1, help="List missed steps by cause, and this many of the worst requests.")
    ] = None,
    html: Annotated[Path | None, "Write a report with plots to this file."] = None,
    runs: Annotated[Path | None, "Write TREC files to this folder: qrels, and a run for each list."] = None,
) -> None:
    """Measure how well queries with qrels are answered.

    Shows each signal alone and all of them fused, then the fused list by kind of request. Builds the folder first,
    apart from what serves, unless --snapshot names what to measure. Metrics are means over requests, K = 10 beside
    those of --k; intervals are 95 % (bootstrap over requests), p is that of a paired randomisation test.
    """
    from quartermaster import evaluation
    from quartermaster.cli.commands import benches
    from quartermaster.output.evaluation import show_evaluation

    sides.check()
    judged = benches.read_bench(bench)
    plain = judged.judgements
    if needs is not None:
        judged = replace(judged, judgements=evaluation.with_needs(plain, needs))
        stated = {one.id for one in judged.judgements}
        plain = [one for one in plain if one.id in stated]
    for option, file in (("--json", how.json_file), ("--html", html), ("--runs", runs)):
        benches.check_writable(option, file)
    if html is not None:
        # Imported now, so that a missing extra fails before the measurement.
        from quartermaster.output.report import write_report
    count, other = len(judged.judgements), None
    with ProgressBars() as bars:
        router, second, built = _opened(bench, how, sides, bars, expansions=not without_expansions)
        if second is not router or sides.against_recipe is not None or needs is not None:
            bars.start("evaluate", count)
            recipe = sides.against_recipe or sides.recipe
            other = evaluation.ask(second, plain, recipe, whole=False, advance=bars.advance)
        bars.start("evaluate", count)
        measured = evaluation.ask(router, judged.judgements, sides.recipe, advance=bars.advance)
        result: dict[str, Any] = evaluation.figures(measured, judged.name, k or ())
        if ablate:
            bars.start("ablate", count * len(evaluation.removable_signals(measured)))
        result |= {
            "ablation": evaluation.ablate(measured, bars.advance) if ablate else None,
            "against": evaluation.against(measured, other) if other else None,
            "worst": evaluation.worst(measured, worst or (_WORST if how.json_file or html else 0)),
            "cost": None,
        }
        if built is not None:
            result["cost"], result["against"]["cost"] = benches.encoder_costs(built, judged, how.workspace, bars)
    if runs is not None:
        evaluation.write_runs(runs, measured)
    if html is not None:
        write_report(html, result)
    if not benches.write_figures(result, how.json_file):
        show_evaluation(result, worst or 0)


def _opened(
    bench: Path, how: BenchOptions, sides: Sides, bars: ProgressBars, *, expansions: bool
) -> "tuple[Router, Router, tuple[BuiltEncoder, BuiltEncoder] | None]":
    """Return what is measured, what it is compared with (itself by default), and two encoders where both are built."""
    from quartermaster.cli.commands import benches

    snapshot, against, built = sides.snapshot, sides.against, None
    built_by: dict[str, Any] = {"expansions": expansions, "generator": how.generator}
    if sides.against_encoder is not None:
        encoders = (how.encoder, sides.against_encoder)
        built = benches.build_both(bench, how.workspace, bars, encoders, **built_by)
        snapshot, against = (str(one.snapshot) for one in built)
    router = how.open(snapshot or benches.build_bench(bench, how.workspace, bars, encoder=how.encoder, **built_by))
    return router, router if against is None else how.open(against), built


def compare(
    bench: Annotated[list[Path], "A folder as in evaluate; may be repeated."],
    how: BenchOptions,
    recipe: Annotated[
        list[str] | None, "A recipe or a single signal; may be repeated, the first is the baseline. By default, all."
    ] = None,
    snapshot: Annotated[
        list[str] | None, "Snapshots to compare on one bench, instead of building it: folders, or addresses."
    ] = None,
) -> None:
    """Compare recipes and single signals side by side.

    Prints a row for each recipe, the best of each column in bold. Rows that differ from the first by more than chance
    are marked (paired randomisation test, corrected for the number of rows). Each bench has a table; several benches
    have a table of means too.
    """
    from quartermaster import evaluation
    from quartermaster.cli.commands import benches
    from quartermaster.output.comparison import show_comparison

    benches.check_writable("--json", how.json_file)
    if snapshot and len(bench) > 1:
        raise SettingsInvalid(
            "--snapshot can be measured on one --bench only: give one --bench, or leave out --snapshot to build each"
        )
    several = [benches.read_bench(folder) for folder in bench]
    compared: list[dict[str, Any]] = []
    with ProgressBars() as bars:
        for judged in several:
            places: Sequence[str | Path] = snapshot or [
                benches.build_bench(judged.folder, how.workspace, bars, generator=how.generator, encoder=how.encoder)
            ]
            routers = [how.open(place) for place in places]
            sides = [(router, name) for router in routers for name in evaluation.recipes_to_compare(router, recipe)]
            bars.start("evaluate", len(judged.judgements) * len(sides))
            measured = [
                evaluation.ask(router, judged.judgements, name, whole=False, advance=bars.advance)
                for router, name in sides
            ]
            rows = evaluation.comparison_rows(measured)
            compared.append({"bench": judged.name, "queries": len(judged.judgements), "rows": rows})
    result = {"benches": compared, "mean": evaluation.mean_rows(compared)}
    if not benches.write_figures(result, how.json_file):
        show_comparison(result)
