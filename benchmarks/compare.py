"""Compare this router with every other selector of tools that is installed: `python -m benchmarks.compare [FOLDER…]`.

FOLDER has tools.jsonl and queries.jsonl (and expansions.jsonl, if a model wrote some), or is a catalog with judgements.
Without one, catalogs/demo and benchmarks/data/rest_chains are compared: both are part of the project.

Every selector gets the same tools with the same text, answers the same requests by its defaults, ten tools each, in a
process of its own on one thread. Where a selector takes an encoder, it gets all-MiniLM-L6-v2, which Quartermaster has
here too (its rows "packaged encoder" have the encoder that it comes with). Quartermaster is measured by the tools' own
text and, where there are expansions, with them; `--expansions` gives the others expansions too, at the end of each
description. A selector that is not installed, fails or takes longer than `--limit` is a line that says why.

`make compare` makes an environment of every peer (.venv-compare, requirements/compare.txt) and runs this. Quality:
means over the requests that some tool answers, 95 % intervals (bootstrap), and Quartermaster's lead with the p of the
paired randomisation test, corrected for the number of selectors (Holm). Time: milliseconds of wall clock and of CPU a
request, its encoding included. Where others use the machine, read the CPU.

`--callers 1 4 16` adds requests a second and waiting times of so many threads that ask one process at once.

`--workspace` keeps what is done, so that a run that was stopped goes on where it was. Take a new one after a change of
the code or of a package, and for figures that were taken in one go.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from benchmarks.support.measuring import BENCHMARKS, DATA, about, arguments, on_one_thread
from benchmarks.support.peer_figures import selector_rows
from benchmarks.support.peer_processes import Answered, NotMeasured, ask_selector, definition, kept_answer
from benchmarks.support.peer_tables import EXPANDED, OURS, OWN_TEXT, markdown, tables
from benchmarks.support.peers.registry import PEERS
from pipeline.progress import SilentProgress
from quartermaster.cli.commands.benches import Bench, build_bench, read_bench
from router import Router
from router.expansion import Expansion

ROOT = BENCHMARKS.parent
DEFAULTS = (ROOT / "catalogs" / "demo", DATA / "rest_chains")
ENVIRONMENT = ROOT / ".venv-compare" / "bin" / "python"
WARM_UP = 5


def measure(bench: Bench, workspace: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of a bench by text and selector, and why others were not measured."""
    answerable = [judgement for judgement in bench.judgements if judgement.kind != "none"]
    judgements = spread(answerable, asked.most)
    requests = [judgement.request for judgement in judgements]
    expansions = expansions_of(bench.folder)
    found: dict[str, Any] = {"set": bench.name, "requests": len(judgements), **about(), "not measured": {}}
    for text in (OWN_TEXT, EXPANDED) if expansions else (OWN_TEXT,):
        selectors = [*OURS, *(asked.peer if text == OWN_TEXT or asked.expansions else ())]
        answers, missing = {}, {}
        builds = Builds(bench.folder, workspace / bench.name / text.replace(" ", "_"), expanded=text == EXPANDED)
        tools = builds.tools(expansions if text == EXPANDED else {})
        found["tools"] = len(tools)
        question = {
            "tools": tools,
            "requests": requests,
            "timed": spread(list(dict.fromkeys(requests)), asked.timed),
            "warm_up": requests[-WARM_UP:],
            "kept": str(builds.workspace),
            "callers": asked.callers,
            "seconds": asked.seconds,
        }
        for name in selectors:
            begun = time.monotonic()
            ask: Callable[[], Answered]
            if name in OURS:
                ask = partial(builds.answered, name, question, asked.limit)
            else:
                ask = partial(ask_selector, {**question, "selector": name}, asked.python, asked.limit)
            try:
                answers[name] = kept_answer(builds.workspace / "answers", name, question, ask)
            except NotMeasured as reason:
                missing[name] = str(reason)
            taken = missing.get(name) or f"{time.monotonic() - begun:.0f} s"
            print(f"  {bench.name}, {text}, {name}: {taken}", file=sys.stderr, flush=True)
        found[text] = selector_rows(judgements, answers)
        found["not measured"][text] = missing
    return found


class Builds:
    """Snapshots of a bench by encoder, each built once, and the seconds that took."""

    def __init__(self, folder: Path, workspace: Path, *, expanded: bool) -> None:
        self.folder, self.workspace, self.expanded = folder, workspace, expanded
        self._built: dict[str, tuple[Path, float, float]] = {}
        workspace.mkdir(parents=True, exist_ok=True)

    def tools(self, expansions: Mapping[str, Expansion]) -> list[dict[str, Any]]:
        """Return the tools as peers take them, with their expansions."""
        with Router.open(self.snapshot("all-MiniLM-L6-v2")[0]) as router:
            return [definition(record, expansions.get(record.tool_id)) for record in router.tools]

    def snapshot(self, encoder: str) -> tuple[Path, float, float]:
        """Return a snapshot's folder, and the seconds and CPU seconds of its build."""
        if encoder not in self._built:
            begun, begun_cpu = time.perf_counter(), sum(os.times()[:4])
            folder = build_bench(
                self.folder,
                self.workspace / encoder,
                SilentProgress(),
                expansions=self.expanded,
                generator=None,
                encoder=encoder,
            )
            self._built[encoder] = (folder, time.perf_counter() - begun, sum(os.times()[:4]) - begun_cpu)
        return self._built[encoder]

    def answered(self, name: str, question: Mapping[str, Any], limit_s: float) -> Answered:
        """Return the answers of one of ours, its build counted."""
        recipe, encoder = OURS[name].recipe, OURS[name].encoder
        snapshot, build_s, build_cpu_s = self.snapshot(encoder)
        ours = {**question, "selector": name, "snapshot": str(snapshot), "recipe": recipe}
        answered = ask_selector(ours, Path(sys.executable), limit_s)
        return replace(answered, build_s=answered.build_s + build_s, build_cpu_s=answered.build_cpu_s + build_cpu_s)


def spread(items: Sequence[Any], most: int) -> list[Any]:
    """Return at most `most` items, evenly spread over all, in their order."""
    if len(items) <= most:
        return list(items)
    return [items[place * len(items) // most] for place in range(most)]


def expansions_of(folder: Path) -> dict[str, Expansion]:
    """Return the expansions of a folder by tool id; none where it has no file of them."""
    file = folder / "expansions.jsonl"
    if not file.is_file():
        return {}
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    return {row["id"]: Expansion.from_json(row) for row in rows}


def store(found: Mapping[str, Any], file: Path) -> None:
    """Write the figures of a set into a file, in the place of those of the set by that name."""
    sets = json.loads(file.read_text(encoding="utf-8"))["sets"] if file.is_file() else []
    names = [kept["set"] for kept in sets]
    if found["set"] in names:
        sets[names.index(found["set"])] = found
    else:
        sets.append(found)
    file.write_text(json.dumps({"sets": sets}, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Measure each folder, print its table, write the JSON."""
    on_one_thread()
    parser = arguments(__doc__)
    parser.add_argument("folders", type=Path, nargs="*", metavar="FOLDER", default=DEFAULTS)
    parser.add_argument("--peer", action="append", choices=list(PEERS), help="all of them, if none is named")
    parser.add_argument("--expansions", action="store_true", help="measure the peers with expansions too")
    parser.add_argument("--python", type=Path, default=ENVIRONMENT, help="where the peers are installed")
    parser.add_argument("--most", type=int, default=500, help="judged requests of a set, evenly spread")
    parser.add_argument("--timed", type=int, default=100, help="requests that are timed")
    parser.add_argument("--callers", type=int, nargs="+", default=[], help="threads that ask at once, such as 1 4 16")
    parser.add_argument("--seconds", type=float, default=3.0, help="that each number of callers asks")
    parser.add_argument("--limit", type=float, default=300, metavar="SECONDS", help="of one selector on one set")
    parser.add_argument("--workspace", type=Path, help="keeps builds, vectors and answers; else a temporary folder")
    parser.add_argument("--markdown", action="store_true", help="print tables in Markdown")
    asked = parser.parse_args()
    asked.peer = asked.peer or list(PEERS)
    if not asked.python.is_file():
        print(f"{asked.python} is not there (`make compare` makes it): {sys.executable} is asked", file=sys.stderr)
        asked.python = Path(sys.executable)
    with TemporaryDirectory() as temporary:
        for folder in asked.folders:
            found = measure(read_bench(folder), (asked.workspace or Path(temporary)).absolute(), asked)
            if asked.markdown:
                print(markdown(found))
            else:
                Console(width=150).print(*tables(found))
            if asked.json:
                store(found, asked.json)


if __name__ == "__main__":
    main()
