"""Measure how much of the prompt a stable selection keeps:
`python -m benchmarks.prompt_cache SNAPSHOT [--judged FOLDER]`.

A dialogue of twenty turns over catalogs/demo; of each turn it is known which tools it needs. The array of tools, as
OpenAI takes it and as compact JSON, is compared with that of the turn before: what both begin with, a provider has in
its cache. Each request comes with the messages before it. By selection: the best eight afresh, the stable ones by their
capacity, which hear what was called, and for comparison the whole catalog at each turn.

    tokens, tools    of a turn, on average
    prefix           tokens of a turn that the turn before began with, on average, and their share of all
    paid             what the turns cost together, where tokens from the cache cost a tenth
    same             turns whose array is that of the turn before, so that the messages behind it are in the cache too
    missed           tools that a turn needed and did not get

`--judged` draws dialogues from a folder's judged requests instead, two to four on one provider, then another or one of
those before; the figures are means of theirs.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.support.dialogues import CACHED, TURNS, Dialogue, common, drawn
from benchmarks.support.measuring import DATA, about, report
from pipeline.tokens import TokenCounter
from quartermaster.evaluation import read_judgements
from router import Router
from router.dialogue.stable_selection import StableSelection
from router.provider_formats import ProviderFormat, render
from router.record import ToolRecord

DIALOGUE = DATA / "dialogue" / "support_day.jsonl"
K, DRAWN = 8, 12
CAPACITIES, CALLED = (16, 24, 32, 64), 2
LONGER = (24, 2 * K, 8)  # capacity, keep_within, keep_called
MESSAGES = 3  # of a request, the latest among them

Turns = Iterator[Sequence[ToolRecord]]


def measure(router: Router, dialogues: Sequence[Dialogue], count: Callable[[str], int]) -> dict[str, Any]:
    """The figures by selection, each the mean over the dialogues."""

    def kept(size: int, within: int, called: int) -> Callable[[Dialogue], Turns]:
        return lambda dialogue: stable(router, dialogue, size, within, called, count)

    modes: dict[str, Callable[[Dialogue], Turns]] = {"afresh": lambda dialogue: afresh(router, dialogue)}
    modes |= {f"stable, {size}": kept(size, K, CALLED) for size in CAPACITIES}
    modes[f"stable, {LONGER[0]}, kept longer"] = kept(*LONGER)
    modes["whole catalog"] = lambda dialogue: iter([[*router.tools]] * len(dialogue))
    found = {name: [figures(mode(dialogue), dialogue, count) for dialogue in dialogues] for name, mode in modes.items()}
    return {name: {leaf: fmean(row[leaf] for row in rows) for leaf in rows[0]} for name, rows in found.items()}


def afresh(router: Router, dialogue: Dialogue) -> Turns:
    """The best tools of each turn, best first."""
    for messages in _messages(dialogue):
        yield [tool.record for tool in router.route(messages, k=K)]


def stable(
    router: Router, dialogue: Dialogue, size: int, within: int, called: int, count: Callable[[str], int]
) -> Turns:
    """The tools of a stable selection; what a turn needs and has is called."""
    selection = StableSelection(router, k=K, capacity=size, keep_within=within, keep_called=called, count=count)
    for judgement, messages in zip(dialogue, _messages(dialogue), strict=True):
        turn = selection.select(messages)
        yield turn.tools
        for tool_id in sorted(judgement.required.intersection(turn.ids)):
            selection.called(tool_id)


def figures(turns: Turns, dialogue: Dialogue, count: Callable[[str], int]) -> dict[str, float]:
    """What the turns cost, of which the first has nothing before it, and what they lack."""
    before, tokens, prefix, tools, same, missed = "", 0, 0, 0, 0, 0
    for records, judgement in zip(turns, dialogue, strict=True):
        text = json.dumps(
            render(records, ProviderFormat.OPENAI, cap=None).tools, separators=(",", ":"), ensure_ascii=False
        )
        tokens += count(text)
        prefix += count(common(before, text))
        tools += len(records)
        same += text == before
        missed += len(judgement.required.difference(record.tool_id for record in records))
        before = text
    return {
        "tokens": round(tokens / len(dialogue)),
        "tools": tools / len(dialogue),
        "prefix": round(prefix / (len(dialogue) - 1)),
        "share": prefix / tokens,
        "paid": round(tokens - prefix + CACHED * prefix),
        "same": same,
        "missed": missed,
    }


def _messages(dialogue: Dialogue) -> Iterator[list[str]]:
    said = [judgement.request for judgement in dialogue]
    return (said[max(turn - MESSAGES, 0) : turn] for turn in range(1, len(said) + 1))


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapshot", type=Path)
    parser.add_argument("--judged", type=Path, metavar="FOLDER", help="draw dialogues from its judged requests")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--against", type=Path, metavar="STORED", help="a stored run, to print ratios to")
    asked = parser.parse_args()
    found = about(asked.snapshot)
    dialogues: list[Dialogue] = [read_judgements(DIALOGUE)]
    counter = TokenCounter()
    with Router.open(asked.snapshot) as router:
        if asked.judged:
            dialogues = drawn(router, asked.judged, DRAWN)
        measured = measure(router, dialogues, counter.length)
    title = f"{len(dialogues)} dialogues of {TURNS} turns, tokens by {counter.name}"
    report(title, found, measured, asked.json, asked.against)


if __name__ == "__main__":
    main()
