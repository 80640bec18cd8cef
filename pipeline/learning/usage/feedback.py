"""What the answers of a feedback log say of each request and tool: how often it succeeded, how often it was examined.

    relevance(request, tool) = successes / (examined + DOUBT)
    examined(rank) = rank ** -bias

An answer counts as examined by the rank that the tool had in it, so that a call at the fifth rank says more than one
at the first, and a tool that was offered and not called says a little against itself. A tool that was never offered
says nothing. Failed calls say nothing. No single caller can decide: see `_bounded`.

A tool may be called more often at the first rank because it is the first, and not because it fits. The two are kept
apart by tools that were offered for the same words at different ranks, as after a build: of those calls only the ranks
are compared, so that how well the tool fits cancels out (intervention harvesting, with the likelihood of a conditional
logit). With no such pair the bias is the one that is assumed: between none and 1 / rank.

What became of a tool at near requests counts too. Over the past requests q, and with the threshold t of similarity:

    relevance(r, d) = Σ near(r, q) × successes(q, d)  /  (Σ near(r, q) × examined(q, d) + DOUBT)
    near(r, q) = (cosine(r, q) - t) / (1 - t), nothing below t

A tool that a wrong call brought forward is offered for the requests near to it, is not called there, and is unlearned.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.feedback import Answer
from pipeline.feedback.storage import normal_words
from router.feedback import Outcome

# The newest are kept: a log keeps growing, and each costs a route in every build and a vector in every snapshot.
MAX_USES = 5_000
# Examinations without a success that every tool of a feedback log begins with. See docs/decisions/use.md.
DOUBT = 0.25
_ASSUMED = 1.0
_DEVIATION = 0.25  # of the prior
_CANDIDATES = np.linspace(0, 2, 41)
# A call whose end nobody reported is half a success.
_SUCCESSES: dict[Outcome | None, float] = {Outcome.SUCCEEDED: 1.0, Outcome.CALLED: 0.5}
# Answers of one caller to the same words; a scheduled agent asks the same thousands of times.
_MOST_ANSWERS = 10
# What one caller may weigh for a tool beyond what all others weigh together: successes or examinations.
_BEYOND_OTHERS = 20.0
_BATCH = 512  # requests whose nearness is in memory at once
_LEAST = 0.1  # a smaller relevance teaches nothing

_Key = tuple[str, str | None, str]  # words, caller, tool


@dataclass(frozen=True, slots=True)
class Evidence:
    """How often a tool succeeded at a request, and how often it was examined; both weighed."""

    successes: float = 0.0
    examined: float = 0.0

    def __add__(self, other: "Evidence") -> "Evidence":
        return Evidence(self.successes + other.successes, self.examined + other.examined)

    def __mul__(self, weight: float) -> "Evidence":
        return Evidence(self.successes * weight, self.examined * weight)


@dataclass(frozen=True, slots=True)
class PastRequest:
    """A past request; `shares` has by tool id the share of the times it was made that led to the tool.

    `evidence` is what a feedback log says of every tool that was offered, and `shares` then are their relevances by
    only this request; None where the request is of a call log.
    """

    request: str
    shares: Mapping[str, float]
    evidence: Mapping[str, Evidence] | None = None

    @classmethod
    def of(cls, request: str, evidence: Mapping[str, Evidence]) -> "PastRequest":
        """Return a request of a feedback log."""
        shares = {
            tool_id: min(1.0, said.successes / (said.examined + DOUBT))
            for tool_id, said in sorted(evidence.items())
            if said.successes
        }
        return cls(request, shares, evidence)


@dataclass(frozen=True, slots=True)
class Examination:
    """`bias` is 0 where every rank is looked at alike; `pairs` of words and tool at different ranks have shown it."""

    bias: float = _ASSUMED
    pairs: int = 0

    def at(self, rank: int) -> float:
        """Return how likely a tool at a rank, from 1 on, is looked at."""
        return float(rank**-self.bias)


def estimate_examination(answers: Iterable[Answer]) -> Examination:
    """Return the bias that explains best at which of its ranks a tool was called for the same words."""
    shown = sorted(
        (normal_words(answer.request), tool, rank, answer.outcomes.get(tool) in _SUCCESSES)
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


@dataclass(frozen=True)
class FeedbackLessons:
    """The requests of a feedback log with their evidence, the newest last; `examination` is how it was weighed.

    `unknown` counts outcomes of tools that the catalog no longer has, `judged` requests that are queries with qrels of
    the catalog, which teach nothing, `bounded` pairs of a caller and a tool whose evidence was bounded.
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
    answers: Iterable[Answer], known: Collection[str], queries: Collection[str] = ()
) -> FeedbackLessons:
    """Return what answers teach; `known` are the catalog's ids, `queries` the texts of its queries with qrels."""
    answers = list(answers)
    skipped = {normal_words(text) for text in queries}
    with_text = [(normal_words(answer.request), answer) for answer in answers if answer.request is not None]
    taught = [(words, answer) for words, answer in with_text if words not in skipped]
    examination = estimate_examination(answer for _, answer in taught)
    counted, unknown = _counted(taught, examination, frozenset(known))
    said, bounded = _bounded(counted)
    evidence: dict[str, dict[str, Evidence]] = defaultdict(dict)
    for (words, _, tool), one in said.items():
        evidence[words][tool] = evidence[words].get(tool, Evidence()) + one
    texts = {words: answer.request or "" for words, answer in taught}
    newest = list(dict.fromkeys(reversed([words for words, _ in taught])))
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
    taught: Sequence[tuple[str, Answer]], examination: Examination, known: Collection[str]
) -> tuple[dict[_Key, Evidence], int]:
    """Return the evidence by words, caller and tool, and how many outcomes name unknown tools."""
    times = Counter((words, answer.caller) for words, answer in taught)
    found: dict[_Key, Evidence] = defaultdict(Evidence)
    for words, answer in taught:
        weight = min(1.0, _MOST_ANSWERS / times[words, answer.caller])
        ranks = {tool: rank for rank, tool in enumerate(answer.tools, 1)}
        # Tools that somebody named without an answer have no rank; those that every answer has teach nothing.
        for tool in answer.outcomes if answer.named else ranks:
            outcome = answer.outcomes.get(tool)
            if tool not in known or outcome is Outcome.FAILED:
                continue
            looked_at = outcome is Outcome.REJECTED or answer.named
            examined = 1.0 if looked_at else examination.at(ranks[tool])
            found[words, answer.caller, tool] += Evidence(_SUCCESSES.get(outcome, 0.0), examined) * weight
    return found, sum(tool not in known for _, answer in taught for tool in answer.outcomes)


def _bounded(said: Mapping[_Key, Evidence]) -> tuple[Mapping[_Key, Evidence], int]:
    """Return evidence in which no caller weighs more for a tool than all others and a little, and how many pairs of a
    caller and a tool that has bounded. A log of one caller stays as it is."""
    pairs: dict[tuple[str, str | None], Evidence] = defaultdict(Evidence)
    for (_, caller, tool), one in said.items():
        pairs[tool, caller] += one
    if len({caller for _, caller in pairs}) < 2:
        return said, 0
    own = {pair: max(one.successes, one.examined) for pair, one in pairs.items()}
    by_tool: dict[str, float] = defaultdict(float)
    for (tool, _), value in own.items():
        by_tool[tool] += value
    shares = {pair: min(1.0, (by_tool[pair[0]] - value + _BEYOND_OTHERS) / value) for pair, value in own.items()}
    bounded = {key: one * shares[key[2], key[1]] for key, one in said.items()}
    return bounded, sum(share < 1 for share in shares.values())


def relevances(
    evidence: Sequence[Mapping[int, Evidence]], vectors: NDArray[np.float32], threshold: float
) -> list[dict[int, float]]:
    """Return the relevance of the tools that succeeded at each request, by ordinal, near requests included.

    `evidence` is by ordinal for each request, `vectors` float32 (requests, dim) are L2-normalised.
    """
    succeeded = {ordinal for of_request in evidence for ordinal, said in of_request.items() if said.successes}
    columns = {ordinal: column for column, ordinal in enumerate(sorted(succeeded))}
    successes = np.zeros((len(evidence), len(columns)), np.float32)
    examined = np.zeros_like(successes)
    for row, of_request in enumerate(evidence):
        for ordinal in of_request.keys() & columns.keys():
            said = of_request[ordinal]
            successes[row, columns[ordinal]] = said.successes
            examined[row, columns[ordinal]] = said.examined
    found: list[dict[int, float]] = []
    for begin in range(0, len(evidence), _BATCH):
        cosines = vectors[begin : begin + _BATCH] @ vectors.T
        near = np.clip((cosines - threshold) / (1 - threshold), 0, 1)
        relevance = np.clip((near @ successes) / (near @ examined + DOUBT), 0, 1)
        for row, of_request in enumerate(evidence[begin : begin + _BATCH]):
            by_tool = {
                ordinal: round(float(relevance[row, columns[ordinal]]), 4)
                for ordinal, said in sorted(of_request.items())
                if said.successes and relevance[row, columns[ordinal]] >= _LEAST
            }
            found.append(by_tool)
    return found
