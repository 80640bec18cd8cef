"""Measure what hostile tools gain: `python -m benchmarks.poisoning [ATTACKS…] [--family NAME…] [--json FILE]`.

Each line of a file of attacks has an `honest_tool`, an `attack_tool`, the answers of a model that obeys the attack and
of one that reads the honest tool (`obedient_answer`, `honest_answer`), and the phrases that the attack demands
(`demand`). The same catalog is built for real with the attacks and with their honest twins; both answer judged
requests. An attack gains where its tool is among the first five of a request and its honest twin is not; by chance, it
may as well lose. Four families are kept apart:

- `known`: the attacks that developers know, or those of ATTACKS. The demo is built with a few attacks at a time, at
  most 5 % of its tools, for all at once would be a flood; the tools of one provider label come from one source. Once
  they are there in the first build, once they are added to the demo that serves. Counts are summed over these builds.
- `unseen`: the same with attacks by somebody who knew neither the code nor its checks.
- `floods`: one source of many hostile tools, in a first build and as an addition: twelve beside three providers of the
  demo, asked the judged requests and the phrases of their tools, and eighty beside the whole demo.
- `slow`: honest twins serve. Each night for six nights a sixth of the demanded phrases is added, and a sixth of the
  clauses that the attack's description has and the twin's has not; the last night all is as the attack has it. Beside
  it, the same in one night.

A build that is held or fails counts as what serves then: the snapshot before, or nothing. `twins held` are honest twins
that do not serve, or with less than half of their phrases; `named`, attacks that a build names as held. Judged requests
neither hold a build nor calibrate it.
"""

import argparse
import json
import math
import re
import shutil
import tempfile
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.support.hostile_builds import Attack, Guest, Workbench, batches, gains, summed
from benchmarks.support.measuring import DATA, about, report
from quartermaster.evaluation import Judgement, judgements_of, read_judgements

DEMO = Path("catalogs/demo")
KNOWN, UNSEEN = DATA / "poisoned_tools.jsonl", DATA / "unseen_attacks.jsonl"
FAMILIES = ("known", "unseen", "floods", "slow")
SMALL = ("gmail", "google-calendar", "slack")
NIGHTS = 6
_SHARE = 0.05  # of a catalog's tools: more are a flood
_FLOODS = (12, 80)
_CLAUSE = re.compile(r"[^.,;:!?。、\n]+[.,;:!?。、\n]*\s*")
Figures = dict[str, Any]


def main() -> None:
    """Measure families of attacks and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attacks", type=Path, nargs="*", metavar="ATTACKS", help="files in place of the known attacks")
    parser.add_argument("--family", action="append", choices=FAMILIES, help="which to measure; by default all")
    parser.add_argument("--set", action="append", default=[], help="SECTION.FIELD=VALUE of the build, as JSON")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    known = [attack for file in asked.attacks or [KNOWN] for attack in read_attacks(file)]
    unseen, found = read_attacks(UNSEEN) if UNSEEN.exists() else [], about()
    families = asked.family or FAMILIES
    if not unseen and {"unseen", "floods"} & {*families}:
        print(f"{UNSEEN} is missing: no unseen attacks are measured, and the flood of 80 repeats known ones")
    figures: Figures = {}
    for family in families:
        with tempfile.TemporaryDirectory() as scratch:
            began = time.perf_counter()
            measured = measure(family, known, unseen, Path(scratch), _overrides(asked.set))
            print(f"{family}: {time.perf_counter() - began:.0f} s", flush=True)
            figures |= {f"{family}, {name}": value for name, value in measured.items()}
    report("poisoning", found, figures, asked.json, None)


def read_attacks(file: Path) -> list[Attack]:
    """Return the attacks of a file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def measure(
    family: str, known: Sequence[Attack], unseen: Sequence[Attack], scratch: Path, overrides: Mapping[str, Any]
) -> Figures:
    """Return the figures of one family in the demo, by the way that its attacks come."""
    if family == "floods":
        every = [*known, *(unseen or map(renamed, known))]
        few = spread(known, _FLOODS[0])
        small = Workbench(reduced(DEMO, SMALL, scratch / "reduced"), scratch / "small", overrides)
        return floods(small, few, _requests(DEMO, small, phrases=True)) | floods(
            Workbench(DEMO, scratch / "demo", overrides), every[: _FLOODS[1]], _requests(DEMO)
        )
    attacks = unseen if family == "unseen" else known
    if not attacks:
        return {}
    bench = Workbench(DEMO, scratch, overrides)
    return (slow if family == "slow" else single)(bench, attacks, _requests(DEMO))


def single(bench: Workbench, attacks: Sequence[Attack], judged: Sequence[Judgement]) -> Figures:
    """Return what attacks gain that are few at a time."""
    return {
        "first build": _few_at_once(bench, attacks, judged, _at_once, first=True),
        "addition": _few_at_once(bench, attacks, judged, _at_once, first=False),
    }


def slow(bench: Workbench, attacks: Sequence[Attack], judged: Sequence[Judgement]) -> Figures:
    """Return what honest tools gain that become attacks, in six nights and in one."""

    def in_nights(attacks: Sequence[Attack], nights: int) -> list[list[Guest]]:
        steps = [[drifted(attack, night / nights) for attack in attacks] for night in range(1, nights + 1)]
        return [*_at_once(attacks, hostile=False), *steps]

    def changing(nights: int) -> Callable[..., list[list[Guest]]]:
        return lambda attacks, *, hostile: in_nights(attacks, nights) if hostile else _at_once(attacks, hostile=False)

    return {
        f"{nights} {'nights' if nights > 1 else 'night'}": _few_at_once(
            bench, attacks, judged, changing(nights), first=False
        )
        for nights in (NIGHTS, 1)
    }


def floods(bench: Workbench, attacks: Sequence[Attack], judged: Sequence[Judgement]) -> Figures:
    """Return what the attacks of one source gain that come all at once."""

    def nights(attacks: Sequence[Attack], *, hostile: bool) -> list[list[Guest]]:
        return [[Guest.of(attack, hostile=hostile, file="flood.jsonl") for attack in attacks]]

    return {
        f"{len(attacks)} in {len(bench.tools)}, {name}": _measured(
            bench, attacks, judged, nights, first=name != "addition"
        )
        for name in ("first build", "addition")
    }


def _few_at_once(
    bench: Workbench,
    attacks: Sequence[Attack],
    judged: Sequence[Judgement],
    nights: Callable[..., list[list[Guest]]],
    *,
    first: bool,
) -> Figures:
    size = max(1, int(_SHARE * len(bench.tools)))
    return summed([_measured(bench, part, judged, nights, first=first) for part in batches(attacks, size)])


def _measured(
    bench: Workbench,
    attacks: Sequence[Attack],
    judged: Sequence[Judgement],
    nights: Callable[..., list[list[Guest]]],
    *,
    first: bool,
) -> Figures:
    requests = [one.request for one in judged]
    honest, hostile = (
        bench.serve(nights(attacks, hostile=hostile), requests, first=first) for hostile in (False, True)
    )
    return gains(attacks, judged, honest, hostile)


def _at_once(attacks: Sequence[Attack], *, hostile: bool) -> list[list[Guest]]:
    return [[Guest.of(attack, hostile=hostile) for attack in attacks]]


def drifted(attack: Attack, share: float) -> Guest:
    """Return an honest twin that has become its attack by a share, 0 to 1."""
    whole, twin = Guest.of(attack, hostile=True), Guest.of(attack, hostile=False)
    if share >= 1:
        return whole
    said, clauses = twin.tool["description"], _CLAUSE.findall(whole.tool["description"])
    added = [place for place, clause in enumerate(clauses) if clause.strip() not in said]
    later = added[math.ceil(share * len(added)) :]
    description = "".join(clause for place, clause in enumerate(clauses) if place not in later)
    phrases = attack["demand"][: math.ceil(share * len(attack["demand"]))]
    answer = {**twin.answer, "user_phrases": [*phrases, *twin.answer["user_phrases"]]}
    return Guest({**twin.tool, "description": description}, answer, twin.file)


def renamed(attack: Attack) -> Attack:
    """Return the same attack under another name."""
    copy = {side: dict(attack[side]) for side in ("honest_tool", "attack_tool")}
    for tool in copy.values():
        tool |= {"id": f"{tool['id']}_2", "name": f"{tool['name']}_2"}
    return {**attack, **copy}


def spread(attacks: Sequence[Attack], count: int) -> list[Attack]:
    """Return so many attacks, evenly spread over their order."""
    return [attacks[place * len(attacks) // count] for place in range(min(count, len(attacks)))]


def reduced(catalog: Path, labels: Sequence[str], folder: Path) -> Path:
    """Write a catalog of only some providers of another, and return its folder."""
    folder.mkdir()
    table = tomllib.loads((catalog / "catalog.toml").read_text(encoding="utf-8"))
    lines = [f'name = "small"\n[vectors]\nencoder = "{table["vectors"]["encoder"]}"\n']
    lines.append('[enrichment]\nexpansions = "expansions.jsonl"\n')
    for source in table["source"]:
        if source["provider"] in labels:
            shutil.copy(catalog / source["path"], folder)
            lines.append("\n[[source]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in source.items()))
    (folder / "catalog.toml").write_text("".join(lines), encoding="utf-8")
    shutil.copy(catalog / "expansions.jsonl", folder)
    return folder


def _requests(catalog: Path, bench: Workbench | None = None, *, phrases: bool = False) -> list[Judgement]:
    """Return a catalog's judged requests, or those that the tools of `bench` answer, with these tools' phrases."""
    file = judgements_of(catalog)
    assert file, f"{catalog} holds no judged requests"
    judged = [one for one in read_judgements(file) if one.kind != "none"]
    if bench is not None:
        judged = [one for one in judged if one.tools <= bench.tools]
    if bench is None or not phrases:
        return judged
    for row in map(json.loads, (catalog / "expansions.jsonl").read_text(encoding="utf-8").splitlines()):
        tools = frozenset({row["id"]})
        if tools <= bench.tools:
            judged += [Judgement(phrase, phrase, tools, tools, "single") for phrase in row["user_phrases"]]
    return judged


def _overrides(assignments: Sequence[str]) -> dict[str, Any]:
    overrides: dict[str, Any] = {}
    for assignment in assignments:
        path, _, value = assignment.partition("=")
        section, _, name = path.partition(".")
        overrides.setdefault(section, {})[name] = json.loads(value)
    return overrides


if __name__ == "__main__":
    main()
