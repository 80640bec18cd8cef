"""Try mutations: `python -m tests.mutations [ROOM…]`. Exits with 1 where one survived."""

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from statistics import median
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from tests.mutations.mutation import Mutation, names, read
from tests.mutations.trial import Outcome, attempt, copy_tree, run_tests


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"lists to try (default: all of {', '.join(names())})")
    parser.add_argument("--match", default="", help="only mutations whose file or promise contains this text")
    parser.add_argument("-k", default="", dest="selection", help="only these tests, as pytest's -k")
    parser.add_argument("--workers", type=int, default=1, help="copies of the tree that are tried at once")
    parser.add_argument("--unchanged", action="store_true", help="first see that the tests pass without a mutation")
    parser.add_argument("--json", type=Path, help="write the outcomes to this file")
    options = parser.parse_args(arguments)
    if unknown := set(options.rooms) - {*names()}:
        parser.error(f"no list is called {', '.join(sorted(unknown))}; there are {', '.join(names())}")
    return options


def try_all(mutations: list[tuple[str, Mutation]], options: argparse.Namespace) -> list[tuple[str, Outcome]]:
    """Try each in one of the copies, and print it as it ends."""
    console = Console()
    with TemporaryDirectory(prefix="mutations-") as folder:
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.workers):
            trees.put(copy_tree(Path(folder) / str(number)))
        if options.unchanged:
            tests = tuple(sorted({place for _, mutation in mutations for place in mutation.tests}))
            failed, passed = run_tests(Path(folder) / "0", tests)
            console.print(f"unchanged: {failed} failed, {passed} passed")
            if failed:
                sys.exit("The tests fail without any mutation.")

        def one(row: tuple[str, Mutation]) -> tuple[str, Outcome]:
            tree = trees.get()
            try:
                outcome = attempt(row[1], tree, options.selection)
            finally:
                trees.put(tree)
            verdict = f"caught by {outcome.caught_by}" if outcome.caught else "SURVIVED"
            console.print(f"{verdict}: {row[1].file}: {row[1].breaks}", highlight=False, markup=False)
            return row[0], outcome

        with ThreadPoolExecutor(options.workers) as pool:
            return list(pool.map(one, mutations))


def show(outcomes: list[tuple[str, Outcome]]) -> None:
    """Print a table by room."""
    table = Table("room", "mutations", "caught", "median of tests that caught one")
    for room in [*sorted({name for name, _ in outcomes}), "all"]:
        rows = [outcome for name, outcome in outcomes if room in (name, "all")]
        caught = [outcome.caught_by for outcome in rows if outcome.caught]
        table.add_row(room, str(len(rows)), str(len(caught)), f"{median(caught):g}" if caught else "–")
    Console().print(table)


def main() -> int:
    """Run the command."""
    options = parse()
    mutations = [
        (room, mutation)
        for room in options.rooms or names()
        for mutation in read(room)
        if options.match in mutation.file or options.match in mutation.breaks
    ]
    outcomes = try_all(mutations, options)
    show(outcomes)
    if options.json:
        rows = [
            {
                "room": room,
                "file": outcome.mutation.file,
                "breaks": outcome.mutation.breaks,
                "caught_by": outcome.caught_by,
            }
            for room, outcome in outcomes
        ]
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return int(not all(outcome.caught for _, outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
