"""What the answers of a feedback log say of each request and tool: how often it succeeded, how often it was examined.

    relevance(request, tool) = successes / (examined + DOUBT)
    examined(rank) = rank ** -bias

An answer counts as examined by the rank that the tool had in it, so that a call at the fifth rank says more than one
at the first, and a tool that was offered and not called says a little against itself. A tool that was never offered
says nothing. Failed calls say nothing. One caller cannot decide alone: see `_bounded`.

A tool may be called more often at the first rank because it is the first, and not because it fits. The two are told
apart by tools that were offered for the same words at different ranks, as after a build: of those calls only the ranks
are compared, so that how well the tool fits cancels out (intervention harvesting, with the likelihood of a conditional
logit). With no such pair the bias is the one that is assumed: between none and 1 / rank.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from pipeline.feedback import Answer
from pipeline.feedback.storage import normal_words
from pipeline.learning.usage.log import MAX_USES, Evidence, PastRequest
from router.feedback import Outcome

_ASSUMED = 1.0
_DEVIATION = 0.25  # of the prior
_CANDIDATES = np.linspace(0, 2, 41)
_SUCCESS = (Outcome.CALLED, Outcome.SUCCEEDED)


@dataclass(frozen=True, slots=True)
class Examination:
    """`bias` is 0 where every rank is looked at alike; `pairs` of words and tool at different ranks have told it."""

    bias: float = _ASSUMED
    pairs: int = 0

    def at(self, rank: int) -> float:
        """Return how likely a tool at a rank, from 1 on, is looked at."""
        return float(rank**-self.bias)


def estimate_examination(answers: Iterable[Answer]) -> Examination:
    """Return the bias that explains best at which of its ranks a tool was called for the same words."""
    shown = sorted(
        (normal_words(answer.request), tool, rank, answer.outcomes.get(tool) in _SUCCESS)
        for answer in answers
        if answer.request is not None
        for rank, tool in enumerate(answer.tools, 1)
    )
    likelihood, pairs = -((_CANDIDATES - _ASSUMED) ** 2) / (2 * _DEVIATION**2), 0
    for _, group in groupby(shown, key=lambda one: one[:2]):
        rows = list(group)
        ranks, called = np.log([row[2] for row in rows]), np.array([row[3] for row in rows])
        if called.any() and ranks.min() < ranks.max():
            pairs += 1
            at_ranks = -_CANDIDATES[:, None] * ranks
            all_ranks = np.log(np.exp(at_ranks).sum(axis=1))
            likelihood = likelihood + at_ranks[:, called].sum(axis=1) - called.sum() * all_ranks
    return Examination(float(_CANDIDATES[int(np.argmax(likelihood))]), pairs)


# A call whose end nobody reported is half a success.
_SUCCESSES = {Outcome.SUCCEEDED: 1.0, Outcome.CALLED: 0.5}
# Answers of one caller to the same words; a scheduled agent asks the same thousands of times.
_MOST_ANSWERS = 10
# What one caller may weigh for a tool beyond what all others weigh together: successes or examinations.
_BEYOND_OTHERS = 20.0

_Key = tuple[str, str | None, str]  # words, caller, tool


@dataclass(frozen=True)
class FeedbackLessons:
    """The requests of a feedback log with their evidence, the newest last; `examination` is how it was weighed.

    `unknown` counts outcomes of tools that the catalog no longer has, `judged` requests that are judged requests of the
    catalog, which teach nothing, `bounded` pairs of a caller and a tool whose evidence was bounded.
    """

    requests: tuple[PastRequest, ...]
    examination: Examination
    answers: int
    texts: int
    unknown: int
    judged: int
    bounded: int

    def to_json(self) -> dict[str, Any]:
        """Return the counts, for the manifest."""
        return {
            "answers": self.answers,
            "texts": self.texts,
            "requests": len(self.requests),
            "unknown": self.unknown,
            "judged": self.judged,
            "bounded": self.bounded,
            "position_bias": round(self.examination.bias, 2),
            "position_pairs": self.examination.pairs,
        }


def feedback_lessons(
    answers: Iterable[Answer], known: Collection[str], judged: Collection[str] = ()
) -> FeedbackLessons:
    """Return what answers teach; `known` are the catalog's ids, `judged` the texts of its judged requests."""
    answers = list(answers)
    skipped = {normal_words(text) for text in judged}
    with_text = [(normal_words(answer.request), answer) for answer in answers if answer.request is not None]
    taught = [(words, answer) for words, answer in with_text if words not in skipped]
    examination = estimate_examination(answer for _, answer in taught)
    successes, examined, unknown = _counted(taught, examination, known)
    successes, examined, bounded = _bounded(successes, examined)
    texts = {words: answer.request or "" for words, answer in taught}
    newest = list(dict.fromkeys(reversed([words for words, _ in taught])))
    evidence: dict[str, dict[str, Evidence]] = defaultdict(dict)
    for (words, _, tool), mass in examined.items():
        before = evidence[words].get(tool, Evidence())
        evidence[words][tool] = Evidence(before.successes, before.examined + mass)
    for (words, _, tool), mass in successes.items():
        before = evidence[words].get(tool, Evidence())
        evidence[words][tool] = Evidence(before.successes + mass, before.examined)
    requests = [PastRequest.of(texts[words], evidence[words]) for words in newest if evidence[words]]
    return FeedbackLessons(
        requests=tuple(reversed(requests[:MAX_USES])),
        examination=examination,
        answers=len(answers),
        texts=len(with_text),
        unknown=unknown,
        judged=len(with_text) - len(taught),
        bounded=bounded,
    )


def _counted(
    taught: Iterable[tuple[str, Answer]], examination: Examination, known: Collection[str]
) -> tuple[dict[_Key, float], dict[_Key, float], int]:
    """Return successes and examinations by words, caller and tool, and how many outcomes name unknown tools."""
    taught, known, unknown = list(taught), frozenset(known), 0
    times = Counter((words, answer.caller) for words, answer in taught)
    successes: dict[_Key, float] = defaultdict(float)
    examined: dict[_Key, float] = defaultdict(float)
    for words, answer in taught:
        weight = min(1.0, _MOST_ANSWERS / times[words, answer.caller])
        ranks = {tool: rank for rank, tool in enumerate(answer.tools, 1)}
        unknown += sum(tool not in known for tool in answer.outcomes)
        # Tools that somebody named without an answer have no rank; those that every answer has teach nothing.
        for tool in answer.outcomes if answer.named else ranks:
            outcome = answer.outcomes.get(tool)
            if tool not in known or outcome is Outcome.FAILED:
                continue
            looked_at = outcome is Outcome.REJECTED or answer.named
            key = (words, answer.caller, tool)
            examined[key] += weight * (1.0 if looked_at else examination.at(ranks[tool]))
            if outcome in _SUCCESSES:
                successes[key] += weight * _SUCCESSES[outcome]
    return successes, examined, unknown


def _bounded(
    successes: Mapping[_Key, float], examined: Mapping[_Key, float]
) -> tuple[dict[_Key, float], dict[_Key, float], int]:
    """Return evidence in which no caller weighs more for a tool than all others and a little, and how many pairs of a
    caller and a tool that has bounded. A log of one caller stays as it is."""
    masses = [defaultdict[tuple[str, str | None], float](float) for _ in range(2)]
    for mass, said in zip(masses, (successes, examined), strict=True):
        for (_, caller, tool), value in said.items():
            mass[tool, caller] += value
    own = {pair: max(mass[pair] for mass in masses) for pair in {**masses[0], **masses[1]}}
    if len({caller for _, caller in own}) < 2:
        return dict(successes), dict(examined), 0
    by_tool: dict[str, float] = defaultdict(float)
    for (tool, _), value in own.items():
        by_tool[tool] += value
    shares = {
        (tool, caller): min(1.0, (by_tool[tool] - value + _BEYOND_OTHERS) / value)
        for (tool, caller), value in own.items()
    }
    scaled = [{key: value * shares[key[2], key[1]] for key, value in said.items()} for said in (successes, examined)]
    return scaled[0], scaled[1], sum(share < 1 for share in shares.values())
