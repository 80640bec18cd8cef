"""Measure what hostile tools gain: `python -m benchmarks.poisoning [ATTACKS…] [--family NAME…] [--json FILE]`.

Each line of a file of attacks has an `honest_tool`, an `attack_tool`, the answers of a model that obeys the attack and
of one that reads the honest tool (`obedient_answer`, `honest_answer`), and the phrases that the attack demands
(`demand`). A catalog is built for real with the attacks and with their honest twins; both answer judged requests. An
attack gains where its tool is among the first five of a request and its honest twin is not. By chance it may as well
lose, for an adapter is learned anew and moves each place: both are told, and how many gain that have a demanded phrase
indexed. Four families are kept apart:

- `known`: the attacks that developers know, or those of ATTACKS. The demo is built with a few attacks at a time, at
  most 5 % of its tools, for all at once would be a flood. The tools of one provider label come from one source, which a
  build may hold whole, or each from a source of its own. They are there in the first build, or are added to the demo
  that serves. Counts are summed over these builds.
- `unseen`: the same with attacks by somebody who knew neither the code nor its checks.
- `floods`: one source of many hostile tools, in a first build and as an addition: twelve beside three providers of the
  demo, asked the judged requests and the phrases of their tools, and all others, known and unseen, beside the demo.
- `slow`: honest twins serve, a few at a time, of twenty known attacks. Each night for six nights a sixth of the
  demanded phrases is added, and a sixth of the clauses that the attack's description has and the twin's has not; the
  rest in the last night. Unseen ones have their own `nights`: what changes of the `tool` and of the `answer`.

A build that is held or fails counts as what serves then: the snapshot before, or nothing. A `twin held` does not serve,
or with less than half of its phrases; `named` are attacks that a build names as held. Judged requests hold no build.
"""

import json
import math
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.support.hostile_builds import Attack, Figures, Guest, Workbench, gains
from benchmarks.support.measuring import DATA, about, arguments, on_one_thread
from quartermaster.evaluation import Judgement, judgements_of, read_judgements

DEMO = Path("catalogs/demo")
KNOWN, UNSEEN, UNSEEN_SLOW = (
    DATA / name for name in ("poisoned_tools.jsonl", "unseen_attacks.jsonl", "unseen_slow.jsonl")
)
FAMILIES = ("known", "unseen", "floods", "slow")
SMALL = ("gmail", "google-calendar", "slack")
NIGHTS = 6
WAYS = ("first build", "addition")
_FEW = 0.05  # of a catalog's tools
_CLAUSE = re.compile(r"[^.,;:!?。、\n]+[.,;:!?。、\n]*\s*")
Nights = Callable[[Sequence[Attack], bool], Sequence[Sequence[Guest]]]  # of some attacks, hostile or not


def main() -> None:
    """Measure families of attacks, write the figures, and print the tables."""
    parser = arguments(__doc__)
    parser.add_argument("attacks", type=Path, nargs="*", metavar="ATTACKS", help="files in place of the known attacks")
    parser.add_argument("--family", action="append", choices=FAMILIES, help="which to measure; by default all")
    asked = parser.parse_args()
    on_one_thread()
    result: Figures = {"about": about(), "figures": {}}
    known = [attack for file in asked.attacks or [KNOWN] for attack in read_rows(file)]
    unseen = read_rows(UNSEEN)
    for family in asked.family or FAMILIES:
        began = time.process_time()
        with tempfile.TemporaryDirectory() as scratch:
            figures = measure(family, known, unseen, Path(scratch))
        result["figures"][family] = {**figures, "cpu_seconds": round(time.process_time() - began)} if figures else {}
        if asked.json:
            asked.json.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for table in tables(result["figures"]):
        Console(width=130).print(table)


def read_rows(file: Path) -> list[Attack]:
    """Return the rows of a JSONL file; none where it is missing, which is told."""
    if not file.exists():
        print(f"{file} is missing: its attacks are not measured")
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def measure(family: str, known: Sequence[Attack], unseen: Sequence[Attack], scratch: Path) -> Figures:
    """Return the figures of one family, by the way that its attacks come."""
    demo = Workbench(DEMO, scratch / "demo")
    if family == "floods":
        small = Workbench(reduced(DEMO, SMALL, scratch / "reduced"), scratch / "small")
        asked = requests(small.tools, phrases=True), requests(demo.tools)
        return flooded(small, known[::3][:12], asked[0]) | flooded(demo, [*known, *unseen][:80], asked[1])
    if family == "slow":
        ways = {"known": known[::2][:20], "unseen": read_rows(UNSEEN_SLOW)}
        found = {f"{way}, {NIGHTS} nights": few_at_once(demo, part, changing) for way, part in ways.items()}
    else:
        attacks = unseen if family == "unseen" else known
        found = {way: few_at_once(demo, attacks, arriving, first=way == WAYS[0]) for way in WAYS}
        found |= {f"{way}, a source each": few_at_once(demo, attacks, scattered, first=way == WAYS[0]) for way in WAYS}
    return {way: figures for way, figures in found.items() if figures}


def flooded(bench: Workbench, attacks: Sequence[Attack], judged: Sequence[Judgement]) -> Figures:
    """Return what the attacks of one source gain that come all at once."""
    nights = partial(arriving, file="flood.jsonl")
    return {f"{len(attacks)}, {way}": gained(bench, attacks, judged, nights, first=way == WAYS[0]) for way in WAYS}


def few_at_once(bench: Workbench, attacks: Sequence[Attack], nights: Nights, *, first: bool = False) -> Figures:
    """Return what attacks gain in builds that have few of them: numbers are added, lists joined."""
    size, asked = max(1, int(_FEW * len(bench.tools))), requests(bench.tools)
    parts = [attacks[start : start + size] for start in range(0, len(attacks), size)]
    found = [gained(bench, part, asked, nights, first=first) for part in parts]
    return {name: sum((one[name] for one in found[1:]), found[0][name]) for name in found[0]} if found else {}


def gained(
    bench: Workbench, attacks: Sequence[Attack], judged: Sequence[Judgement], nights: Nights, *, first: bool
) -> Figures:
    """Return what attacks gain that come all together."""
    asked = [one.request for one in judged]
    honest, hostile = (bench.serve(nights(attacks, hostile), asked, first=first) for hostile in (False, True))
    return gains(attacks, judged, honest, hostile)


def arriving(attacks: Sequence[Attack], hostile: bool, file: str = "") -> Sequence[Sequence[Guest]]:
    """Return attacks or their twins that come in one night."""
    return [[Guest.of(attack, hostile=hostile, file=file) for attack in attacks]]


def scattered(attacks: Sequence[Attack], hostile: bool) -> Sequence[Sequence[Guest]]:
    """Return attacks or their twins that come in one night, each in a file of its own."""
    return [[Guest.of(one, hostile=hostile, file=f"guest-{number}.jsonl") for number, one in enumerate(attacks)]]


def changing(attacks: Sequence[Attack], hostile: bool) -> Sequence[Sequence[Guest]]:
    """Return honest twins that become attacks, or stay."""
    return [[drifted(attack, night) for attack in attacks] for night in range(NIGHTS + 1 if hostile else 1)]


def drifted(attack: Attack, night: int) -> Guest:
    """Return what an honest twin has become after some nights: as its file has it, or by a share of its attack."""
    twin, share = Guest.of(attack, hostile=False), night / NIGHTS
    if "nights" in attack:
        for changes in attack["nights"][:night]:
            twin = replace(twin, tool={**twin.tool, **changes["tool"]}, answer={**twin.answer, **changes["answer"]})
        return twin
    whole = Guest.of(attack, hostile=True)
    if share in (0, 1):
        return whole if share else twin
    clauses = _CLAUSE.findall(whole.tool["description"])
    added = [place for place, clause in enumerate(clauses) if clause.strip() not in twin.tool["description"]]
    later = added[math.ceil(share * len(added)) :]
    description = "".join(clause for place, clause in enumerate(clauses) if place not in later)
    phrases = attack["demand"][: math.ceil(share * len(attack["demand"]))]
    answer = {**twin.answer, "user_phrases": [*phrases, *twin.answer["user_phrases"]]}
    return Guest({**twin.tool, "description": description}, answer, twin.file)


def reduced(catalog: Path, labels: Sequence[str], folder: Path) -> Path:
    """Write a catalog with only some providers of another, and return its folder."""
    shutil.copytree(catalog, folder)
    file = folder / "catalog.toml"
    tables = re.split(r"^(?=\[)", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    named = [f'provider = "{label}"' for label in labels]
    kept = [one for one in tables if not one.startswith("[[source]]") or any(name in one for name in named)]
    file.write_text("".join(kept), encoding="utf-8")
    return folder


def requests(tools: frozenset[str], *, phrases: bool = False) -> list[Judgement]:
    """Return the demo's judged requests that some tools answer, and with `phrases` those of these tools."""
    file = judgements_of(DEMO)
    assert file, f"{DEMO} holds no judged requests"
    found = [one for one in read_judgements(file) if one.kind != "none" and one.tools <= tools]
    for row in read_rows(DEMO / "expansions.jsonl") if phrases else ():
        if (tool := frozenset({row["id"]})) <= tools:
            found += [Judgement(phrase, phrase, tool, tool, "single") for phrase in row["user_phrases"]]
    return found


def tables(families: Mapping[str, Figures]) -> Iterator[Table]:
    """Yield a table of each family, a column for each way that its attacks come."""
    for family, figures in families.items():
        ways = {way: found for way, found in figures.items() if isinstance(found, Mapping)}
        drawn = Table(
            "", *ways, title=f"{family}, {figures.get('cpu_seconds', 0)} s of CPU", title_justify="left", box=None
        )
        for name in next(iter(ways.values()), {}):
            if name not in ("rows", "outcomes"):
                drawn.add_row(name, *(f"{found[name]:,}" for found in ways.values()))
        yield drawn


if __name__ == "__main__":
    main()
