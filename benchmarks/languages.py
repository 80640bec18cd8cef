"""Measure requests in other languages: `python -m benchmarks.languages [CODE …] [--json FILE]`.

`data/languages/CODE` holds a language's tools (`tools.jsonl`) and judged requests (`requests.jsonl`); without a code,
every language that is looked for. Each is built once, by default settings: the demo's English tools with their phrases,
and the language's tools, without phrases, in a source of their own.

Requests of the slice "own" are over the language's tools, those of "english" over the demo's; "mixed" has two languages
in a request, or writes the language in bare Latin letters. Rows compare the recipes `default` and `lexical` and the
dense list alone. "below" is by how much nDCG@10 of the default lies below the better of the other two, marked with !
past the bar. The second table has the share of requests that are refused, of those that no tool answers ("none") and of
the others; – where the router gives no probability.
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from rich.console import Console
from rich.table import Table

from benchmarks.support.measuring import BENCHMARKS, DATA, about, arguments
from pipeline.build import build
from pipeline.settings import CatalogSettings, SourceSettings, load
from quartermaster.evaluation import (
    NDCG,
    SUCCESS_AT_1,
    FullRecall,
    JudgedResult,
    K,
    ask,
    evaluate,
    read_judgements,
    recipes_to_compare,
    unknown_tools,
)
from quartermaster.evaluation.measurement import FUSED
from router import Router

LANGUAGES = ("zh", "ja", "ko", "ru", "ar", "hi", "de", "es", "fr", "pt")
FOLDER = DATA / "languages"
DEMO = BENCHMARKS.parent / "catalogs" / "demo"
FILES = ("tools.jsonl", "requests.jsonl")
RECIPES = ("default", "lexical", "dense")
SLICES = {"all": ("own", "english", "mixed", "romanised"), "own": ("own",), "english": ("english",)}
SLICES["mixed"] = ("mixed", "romanised")
METRICS = tuple(metric.key for metric in (NDCG(K), SUCCESS_AT_1, FullRecall(K)))
BAR = 0.02  # of nDCG@10


def measure(folder: Path, workspace: Path) -> dict[str, Any]:
    """Build the catalog of a language's folder, answer its requests by each recipe, and return the figures."""
    # A set may list the alternatives alone as acceptable.
    judgements = [replace(one, acceptable=one.relevant) for one in read_judgements(folder / "requests.jsonl")]
    with Router.open(build(catalog(folder), workspace=workspace).snapshot) as router:
        asked = {one.name: ask(router, judgements, one, whole=False) for one in recipes_to_compare(router, RECIPES)}
        found: dict[str, Any] = {"tools": len(router), "unknown": unknown_tools(asked["default"])}
    return found | figures({recipe: measured.results for recipe, measured in asked.items()})


def catalog(folder: Path) -> CatalogSettings:
    """Return the demo's settings with the tools of a language's folder as one more source."""
    demo = load(DEMO, {"enrichment": {"generator": "none"}}, environment={})
    source = SourceSettings(path=(folder / "tools.jsonl").resolve(), format="jsonl")
    return demo.model_copy(update={"name": f"demo-{folder.name}", "source": (*demo.source, source)})


def figures(by_recipe: Mapping[str, Sequence[JudgedResult]]) -> dict[str, Any]:
    """Return by slice the requests, the metrics of each recipe and how far the default is below, and what is refused.

    Slices without an answerable request are left out.
    """
    slices: dict[str, Any] = {}
    for name, judged in SLICES.items():
        metrics = {}
        for recipe, results in by_recipe.items():
            chosen = [one for one in results if one.judgement.kind != "none" and one.judgement.slice in judged]
            means = evaluate((one.lists[FUSED].ids, one.judgement) for one in chosen)
            metrics[recipe] = {key: round(value, 4) for key in METRICS if (value := means[key]) is not None}
        if chosen:
            slices[name] = {"requests": len(chosen), "below": below(metrics), **metrics}
    return {"slices": slices, "refused": {recipe: refused(results) for recipe, results in by_recipe.items()}}


def below(metrics: Mapping[str, Mapping[str, float]]) -> float:
    """Return by how much nDCG of the default lies below the better of the others; negative where it lies above."""
    own, *others = (metrics[recipe][NDCG(K).key] for recipe in RECIPES)
    return round(max(others) - own, 4)


def refused(results: Sequence[JudgedResult]) -> dict[str, float | None]:
    """Return the share of the requests that no tool answers, and of the others, that the router refuses.

    None where there are no such requests, or some have no probability.
    """

    def share(chosen: Sequence[JudgedResult]) -> float | None:
        if not chosen or any(one.fits is None for one in chosen):
            return None
        return round(sum(one.none_fits for one in chosen) / len(chosen), 4)

    none = [one for one in results if one.judgement.kind == "none"]
    return {"none": share(none), "answerable": share([one for one in results if one.judgement.kind != "none"])}


def table(found: Mapping[str, Any]) -> Table:
    """Draw a row a language and slice, a column a metric and recipe."""
    shown = Table(box=None, title_justify="left", title="Requests by language")
    for name in ("", "slice", "requests"):
        shown.add_column(name)
    for metric in METRICS:
        for recipe in RECIPES:
            shown.add_column(f"{metric} {recipe}" if recipe == RECIPES[0] else recipe, justify="right")
        if metric == NDCG(K).key:
            shown.add_column("below", justify="right")
    for code, of_language in found.items():
        for name, row in of_language["slices"].items():
            cells = [f"{row[recipe][metric]:.3f}" for metric in METRICS for recipe in RECIPES]
            short = f"{row['below']:+.3f}"
            cells.insert(len(RECIPES), f"[bold]{short} ![/]" if row["below"] > BAR else short)
            shown.add_row(code, name, str(row["requests"]), *cells)
    return shown


def refusals(found: Mapping[str, Any]) -> Table:
    """Draw a row a language: what each recipe refuses, of what no tool answers and of the rest."""
    shown = Table(box=None, title_justify="left", title="Refused: none / others")
    for name in ("", *RECIPES):
        shown.add_column(name, justify="right" if name else "left")
    for code, of_language in found.items():
        pairs = (of_language["refused"][recipe].values() for recipe in RECIPES)
        shown.add_row(code, *(" / ".join("–" if v is None else f"{v:.1%}" for v in pair) for pair in pairs))
    return shown


def present(codes: Sequence[str], folder: Path, console: Console) -> list[Path]:
    """Return the folders of the languages that have both files, and tell which lack one."""
    whole = []
    for place in (folder / code for code in codes):
        if missing := [name for name in FILES if not (place / name).is_file()]:
            console.print(f"{place.name} is left out: {place} has no {' and no '.join(missing)}", soft_wrap=True)
        else:
            whole.append(place)
    return whole


def main() -> None:
    """Measure the languages, print, write."""
    parser = arguments(__doc__)
    parser.add_argument("codes", nargs="*", metavar="CODE", default=LANGUAGES)
    asked = parser.parse_args()
    console, where, found = Console(width=150, highlight=False), about(), {}
    with tempfile.TemporaryDirectory() as workspace:
        for place in present(asked.codes, FOLDER, console):
            found[place.name] = measure(place, Path(workspace))
            if unknown := found[place.name]["unknown"]:
                console.print(f"{place.name}: the catalog lacks judged tools: {', '.join(unknown)}", soft_wrap=True)
    console.print(table(found))
    console.print(refusals(found))
    if asked.json:
        text = json.dumps({"about": where, "figures": found}, indent=1)
        asked.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
