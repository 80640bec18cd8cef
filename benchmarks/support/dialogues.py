"""Dialogues drawn from judged requests, and what of a prompt a provider has in its cache."""

import random
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from quartermaster.evaluation import Judgement, judgements_of, read_judgements
from router import Router

TURNS = 20
CACHED = 0.1  # what a token from the cache costs: a tenth at Anthropic, a half to a tenth at OpenAI
Dialogue = Sequence[Judgement]


def drawn(router: Router, folder: Path, count: int) -> list[Dialogue]:
    """So many dialogues of a folder's judged requests, each by a seed of its own."""
    file = judgements_of(folder)
    assert file, f"{folder} holds no judged requests"
    judged = [judgement for judgement in read_judgements(file) if judgement.required]
    return [draw(router, judged, seed) for seed in range(count)]


def draw(router: Router, judgements: Sequence[Judgement], seed: int) -> Dialogue:
    """A dialogue of judged requests, two to four on one provider; one in three times on one of those before."""
    chance = random.Random(seed)
    by_provider: defaultdict[str, list[Judgement]] = defaultdict(list)
    for judgement in judgements:
        for tool_id in sorted(judgement.required):
            record = router.record(tool_id)
            assert record, f"{judgement.request}: there is no tool {tool_id}"
            by_provider[record.provider or ""].append(judgement)
    drawn: list[Judgement] = []
    visited: list[str] = []
    while len(drawn) < TURNS:
        visited.append(chance.choice(visited if visited and chance.random() < 1 / 3 else sorted(by_provider)))
        drawn += [chance.choice(by_provider[visited[-1]]) for _ in range(chance.randint(2, 4))]
    return drawn[:TURNS]


def common(before: str, now: str) -> str:
    """What both begin with."""
    length = bisect_left(range(1, min(len(before), len(now)) + 1), True, key=lambda n: before[:n] != now[:n])
    return now[:length]
