"""Count missed steps by cause: `python -m benchmarks.misses SNAPSHOT=FOLDER… [--recipe NAME] [--json FILE]`.

FOLDER holds judged requests and SNAPSHOT was built of it. A row is a set, a column a cause: the steps that the first
ten tools leave unmet. Sets that were built without expansions have "bare" behind their names.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from router import Router
from router.evaluation import Cause, ask, causes, judgements_of, read_judgements


def measure(snapshot: Path, folder: Path, recipe: str | None) -> dict[str, Any]:
    """The missed steps of a set by cause, without examples: requests may be private."""
    router = Router.open(snapshot)
    file = judgements_of(folder)
    assert file, f"{folder} holds no judged requests"
    measured = ask(router, read_judgements(file), recipe)
    found = causes(measured)
    for row in found["by_cause"].values():
        for key in ("examples", "meaning", "way_out"):
            del row[key]
    bare = "" if router.manifest.counts["phrases"] else " bare"
    return {"bench": folder.resolve().name + bare, "recipe": measured.recipe.name, "tools": len(router), **found}


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """A row for each set; the last has the sums."""
    shown = Table(box=None)
    shown.add_column("set")
    for name in ("steps", "missed", *(cause.label for cause in Cause)):
        shown.add_column(name, justify="right")
    counts = [[row["steps"], row["missed"], *(row["by_cause"][cause]["steps"] for cause in Cause)] for row in rows]
    for row, numbers in zip(rows, counts, strict=True):
        shown.add_row(row["bench"], *(f"{number:,}" if number else "–" for number in numbers))
    shown.add_section()
    shown.add_row("all", *(f"{sum(column):,}" for column in zip(*counts, strict=True)))
    return shown


def main() -> None:
    """Measure each pair and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="SNAPSHOT=FOLDER")
    parser.add_argument("--recipe", help="By default the snapshot's own.")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for pair in arguments.pairs:
        snapshot, _, folder = pair.partition("=")
        rows.append(measure(Path(snapshot), Path(folder), arguments.recipe))
    Console(width=150).print(table(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
