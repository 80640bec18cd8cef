"""Measure what whole conversations cost by how their tools are chosen:
`python -m benchmarks.prompt_cache SNAPSHOT [--judged FOLDER]`.

A dialogue of twenty turns over catalogs/demo; of each turn it is known which tools it needs. A prompt is the array of
tools, as OpenAI takes it and as compact JSON, then all messages so far. No provider is asked: its cache has what a
prompt and the one before both begin with, and a token from there costs a tenth. So one tool that differs has all
messages read again. Each turn adds messages of 120, 1,000 or 2,000 tokens; the router hears the latest three requests.

    afresh         the best eight of each turn
    stable, N      a StableSelection of capacity N, which hears what was called and how long the messages are
    fixed union    all that `afresh` ever has, from the first turn on: needs to know the future
    whole catalog  every tool at each turn
    append-only    the model's own search: the array holds the search alone, and what is found is appended to the
                   messages. The model searches, by a request more, where it lacks a tool that it needs

    tools     in the prompt, on average over the turns
    same      turns whose array is that of the turn before, so that the messages behind it are in the cache too
    coverage  share of the needed tools that are at hand
    paid      what the prompts of a dialogue cost, in tokens of full price
    ratio     the same, over that of `afresh`

`--judged` draws dialogues from a folder's judged requests instead, two to four on one provider, then another or one of
those before; the figures are means of theirs.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.support.dialogues import CACHED, TURNS, Dialogue, drawn
from benchmarks.support.measuring import DATA, about, arguments, report
from pipeline.tokens import TokenCounter
from quartermaster.adapters.openai_responses import ResponsesToolSearch
from quartermaster.evaluation import read_judgements
from router import Router
from router.dialogue.stable_selection import StableSelection
from router.provider_formats.formats import ProviderFormat
from router.provider_formats.rendering import render

DIALOGUE = DATA / "dialogue" / "support_day.jsonl"
K, FOUND, DRAWN = 8, 5, 12
CAPACITIES = (24, 64)  # the latter is the default
LENGTHS = (120, 1_000, 2_000)  # of the messages of a turn
MESSAGES = 3  # of a request, the latest among them
Arrays = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Catalog:
    """A router, and the tokens of each tool's definition and of the search."""

    router: Router
    tokens: Mapping[str, int]
    search_tokens: int
    count: Callable[[str], int]

    @classmethod
    def of(cls, router: Router, count: Callable[[str], int]) -> "Catalog":
        """Count the definitions of a router's tools."""
        records = [*router.tools]
        rendered = render(records, ProviderFormat.OPENAI, cap=None).tools
        tokens = {record.tool_id: count(_json(tool)) for record, tool in zip(records, rendered, strict=True)}
        return cls(router, tokens, count(_json(ResponsesToolSearch(router).tool)), count)


def measure(catalog: Catalog, dialogues: Sequence[Dialogue]) -> dict[str, Any]:
    """The figures by the messages' length and the way, each the mean over the dialogues."""
    found: dict[str, Any] = {}
    for length in LENGTHS:
        rows = [_ways(catalog, dialogue, length) for dialogue in dialogues]
        means = {way: {leaf: fmean(row[way][leaf] for row in rows) for leaf in rows[0][way]} for way in rows[0]}
        for way, figures in means.items():
            found[f"{length}: {way}"] = {**figures, "ratio": figures["paid"] / means["afresh"]["paid"]}
    return found


def _ways(catalog: Catalog, dialogue: Dialogue, length: int) -> dict[str, dict[str, float]]:
    afresh = [catalog.router.route(messages, k=K).ids for messages in _messages(dialogue)]
    union = [*dict.fromkeys(tool_id for ids in afresh for tool_id in ids)]
    ways: dict[str, Arrays] = {"afresh": afresh}
    ways |= {f"stable, {size}": stable(catalog, dialogue, size, length) for size in CAPACITIES}
    ways |= {"fixed union": [union] * len(dialogue), "whole catalog": [[*catalog.tokens]] * len(dialogue)}
    figures = {way: in_prompt(catalog.tokens, arrays, dialogue, length) for way, arrays in ways.items()}
    return {**figures, "append-only": append_only(catalog, dialogue, length)}


def stable(catalog: Catalog, dialogue: Dialogue, size: int, length: int) -> Arrays:
    """The tools of a stable selection; what a turn needs and has is called."""
    selection, arrays = StableSelection(catalog.router, k=K, capacity=size, count=catalog.count), []
    for turns, (judgement, messages) in enumerate(zip(dialogue, _messages(dialogue), strict=True), 1):
        arrays.append(selection.select(messages, message_tokens=turns * length).ids)
        for tool_id in sorted(judgement.required.intersection(arrays[-1])):
            selection.called(tool_id)
    return arrays


def in_prompt(tokens: Mapping[str, int], arrays: Arrays, dialogue: Dialogue, length: int) -> dict[str, float]:
    """What the turns cost whose tools stand before the messages, and what they cover."""
    paid, before = 0.0, None
    for turns, ids in enumerate(arrays):
        cached = sum(tokens[tool_id] for tool_id in _common(before or (), ids))
        cached += turns * length if ids == before else 0
        prompt = sum(tokens[tool_id] for tool_id in ids) + (turns + 1) * length
        paid += prompt - (1 - CACHED) * cached
        before = ids
    same = sum(ids == before for before, ids in pairwise(arrays))
    covered = [judgement.required.intersection(ids) for judgement, ids in zip(dialogue, arrays, strict=True)]
    return {"tools": fmean(map(len, arrays)), "same": same, "coverage": _coverage(covered, dialogue), "paid": paid}


def append_only(catalog: Catalog, dialogue: Dialogue, length: int) -> dict[str, float]:
    """What the turns cost in which the model searches, and what they cover."""
    paid, before, loaded, sizes, covered = 0.0, 0, dict[str, int](), list[int](), list[frozenset[str]]()
    for turns, judgement in enumerate(dialogue, 1):
        prompts = [catalog.search_tokens + turns * length + sum(loaded.values())]
        if not judgement.required <= loaded.keys():
            ids = catalog.router.route(judgement.request, k=FOUND).ids
            loaded |= {tool_id: catalog.tokens[tool_id] for tool_id in ids}
            prompts.append(catalog.search_tokens + turns * length + sum(loaded.values()))
        for prompt in prompts:  # each begins with all of the one before
            paid += prompt - (1 - CACHED) * before
            before = prompt
        covered.append(judgement.required & loaded.keys())
        sizes.append(len(loaded))
    same = len(dialogue) - 1
    return {"tools": fmean(sizes), "same": same, "coverage": _coverage(covered, dialogue), "paid": paid}


def _coverage(covered: Sequence[frozenset[str]], dialogue: Dialogue) -> float:
    return sum(map(len, covered)) / sum(len(judgement.required) for judgement in dialogue)


def _common(before: Sequence[str], ids: Sequence[str]) -> Sequence[str]:
    same = [one == other for one, other in zip(before, ids, strict=False)]
    return ids[: [*same, False].index(False)]


def _json(tool: Mapping[str, Any]) -> str:
    return json.dumps(tool, separators=(",", ":"), ensure_ascii=False)


def _messages(dialogue: Dialogue) -> Iterator[list[str]]:
    said = [judgement.request for judgement in dialogue]
    return (said[max(turn - MESSAGES, 0) : turn] for turn in range(1, len(said) + 1))


def main() -> None:
    """Measure, print, write."""
    parser = arguments(__doc__)
    parser.add_argument("snapshot", type=Path)
    parser.add_argument("--judged", type=Path, metavar="FOLDER", help="draw dialogues from its judged requests")
    parser.add_argument("--against", type=Path, metavar="STORED", help="a stored run, to print ratios to")
    asked = parser.parse_args()
    found = about(asked.snapshot)
    dialogues: list[Dialogue] = [read_judgements(DIALOGUE)]
    counter = TokenCounter()
    with Router.open(asked.snapshot) as router:
        if asked.judged:
            dialogues = drawn(router, asked.judged, DRAWN)
        measured = measure(Catalog.of(router, counter.length), dialogues)
    title = f"{len(dialogues)} dialogues of {TURNS} turns, tokens by {counter.name}"
    report(title, found, measured, asked.json, asked.against)


if __name__ == "__main__":
    main()
