"""Retrieval metrics over queries with qrels, as objects with a cutoff.

A ranking is a sequence of tool ids, best first. Requests of kind "none" have no metric. `METRICS` lists the metrics
that every table, file and comparison shows: to add one, write its class here and its object there, or only the object
for another cutoff, as `NDCG(5)`.

Definitions: "Hybrid Lexical-Semantic Retrieval for Tool Selection in Agent Systems" (2026), and binary nDCG (Järvelin
and Kekäläinen, TOIS 2002).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from quartermaster.evaluation.judgements import Judgement

K = 10


@dataclass(frozen=True, slots=True)
class Metric(ABC):
    """A retrieval metric at a cutoff. It prints itself as the field writes it: "nDCG@10"."""

    cutoff: int
    json_key: str = ""  # in files and tables; by default the class's stem with the cutoff

    name: ClassVar[str]
    stem: ClassVar[str]
    wanted: ClassVar["attrgetter[Any]"]  # what it looks for in a ranking

    def __str__(self) -> str:
        return f"{self.name}@{self.cutoff}"

    @property
    def key(self) -> str:
        """The key of the metric in JSON."""
        return self.json_key or f"{self.stem}@{self.cutoff}"

    @property
    def header(self) -> str:
        """The heading of the metric's column in a table."""
        return self.key

    def applies(self, judgement: Judgement) -> bool:
        """Return whether a request has this metric: some tool answers it, and there is something to find."""
        return judgement.kind != "none" and bool(self.wanted(judgement))

    @abstractmethod
    def compute(self, ranking: Sequence[str], judgement: Judgement) -> float:
        """Return the metric of one ranking, from 0 to 1. The request must have it."""


class Success(Metric):
    """1 where at least one acceptable tool is in the top k, else 0."""

    __slots__ = ()
    name, stem, wanted = "Success", "recall", attrgetter("acceptable")

    def compute(self, ranking: Sequence[str], judgement: Judgement) -> float:
        """Return 1 or 0."""
        return float(not judgement.acceptable.isdisjoint(ranking[: self.cutoff]))


class MRR(Success):
    """1 / rank of the first acceptable tool, 0 past rank k; its mean is the mean reciprocal rank."""

    __slots__ = ()
    name, stem = "MRR", "mrr"

    def compute(self, ranking: Sequence[str], judgement: Judgement) -> float:
        """Return the reciprocal rank."""
        rank = first_rank(ranking[: self.cutoff], judgement)
        return 1 / rank if rank else 0.0


class FullRecall(Metric):
    """The share of a request's steps with a tool in the top k."""

    __slots__ = ()
    name, stem, wanted = "FullRecall", "full", attrgetter("steps")

    def compute(self, ranking: Sequence[str], judgement: Judgement) -> float:
        """Return the share of steps."""
        top = set(ranking[: self.cutoff])
        return sum(bool(step & top) for step in judgement.steps) / len(judgement.steps)


class MultiToolRecall(FullRecall):
    """Full recall of requests that take several tools; no other request has it."""

    __slots__ = ()
    name, stem = "MultiToolRecall", "multi"

    def applies(self, judgement: Judgement) -> bool:
        """Return whether the request takes several tools."""
        return judgement.kind == "multi" and bool(judgement.steps)


class NDCG(Metric):
    """Binary normalised discounted cumulative gain of the top k, over every tool that is acceptable or required."""

    __slots__ = ()
    name, stem, wanted = "nDCG", "ndcg", attrgetter("relevant")

    def compute(self, ranking: Sequence[str], judgement: Judgement) -> float:
        """Return the gain of the top k over that of the best possible top k; a right tool has gain 1."""
        relevant, top = judgement.relevant, ranking[: self.cutoff]
        gain = sum(1 / math.log2(rank + 1) for rank, tool_id in enumerate(top, 1) if tool_id in relevant)
        return gain / _best_gain(min(self.cutoff, len(relevant)))

    def missing(self, ranking: Sequence[str], judgement: Judgement) -> float:
        """Return how much of 1 - nDCG is due to right tools that are not in the top k; the rest is due to order."""
        found = sum(tool_id in judgement.relevant for tool_id in ranking[: self.cutoff])
        return 1 - _best_gain(found) / _best_gain(min(self.cutoff, len(judgement.relevant)))


def _best_gain(count: int) -> float:
    """Return the discounted gain of `count` right tools at the first ranks."""
    return sum(1 / math.log2(rank + 1) for rank in range(1, count + 1))


def first_rank(ranking: Sequence[str], judgement: Judgement) -> int | None:
    """Return the rank, from 1, of the first acceptable tool; None where the ranking holds none."""
    return next((rank for rank, tool_id in enumerate(ranking, 1) if tool_id in judgement.acceptable), None)


SUCCESS_AT_1 = Success(1, json_key="hit@1")


def metrics_at(k: int) -> tuple[Metric, ...]:
    """Return the metrics of an evaluation at a cutoff, in the order of the tables' columns."""
    return Success(k), SUCCESS_AT_1, MRR(k), FullRecall(k), MultiToolRecall(k), NDCG(k)


# The metrics of every evaluation. Snapshots and results on disk have these keys.
METRICS: tuple[Metric, ...] = metrics_at(K)
# What small tables, the regression gate and the worst requests go by: is all that is needed there, and how far up.
HEADLINE_METRICS: tuple[Metric, ...] = (FullRecall(K), NDCG(K))


def by_key(values: Iterable[Any], metrics: Sequence[Metric] = METRICS) -> dict[str, Any]:
    """Return values in the order of the metrics as a dict by JSON key."""
    return dict(zip((metric.key for metric in metrics), values, strict=True))


def of_request(
    ranking: Sequence[str], judgement: Judgement, metrics: Sequence[Metric] = METRICS
) -> dict[str, float | None]:
    """Return the metrics of one request by JSON key; None for one that it does not have."""
    return by_key((m.compute(ranking, judgement) if m.applies(judgement) else None for m in metrics), metrics)


def scores(
    rankings: Iterable[tuple[Sequence[str], Judgement]], metrics: Sequence[Metric] = METRICS
) -> NDArray[np.float64]:
    """Return the metrics of each request: shape (requests, metrics), columns as these, NaN where there is none."""
    rows = [[math.nan if v is None else v for v in of_request(*pair, metrics).values()] for pair in rankings]
    return np.array(rows, np.float64).reshape(-1, len(metrics))


def means(table: NDArray[np.float64], metrics: Sequence[Metric] = METRICS) -> dict[str, float | None]:
    """Return the mean of each column of `scores` over the requests that have it; None where no request has."""
    columns = [column[~np.isnan(column)].tolist() for column in table.T]
    return by_key((math.fsum(values) / len(values) if values else None for values in columns), metrics)


def evaluate(rankings: Iterable[tuple[Sequence[str], Judgement]]) -> dict[str, float | None]:
    """Return the mean of each metric over rankings with their judgements; None for a metric that no request has."""
    return means(scores(rankings))
