"""Retrieval metrics over judged requests. Pure functions; K = 10.

Definitions: "Hybrid Lexical-Semantic Retrieval for Tool Selection in Agent Systems" (2026), and binary nDCG (Järvelin
and Kekäläinen, TOIS 2002). A ranking is a sequence of tool ids, best first; requests of kind "none" have no metric.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from router.errors import SettingsInvalid

K = 10


@dataclass(frozen=True, slots=True)
class Judgement:
    """A request and what answers it.

    `required` are the primary tools, `acceptable` those and valid alternatives. `groups`, where present, replace
    `required`: a step is met by any one tool of its group. `kind` is "single", "multi" or "none"; `slice` is the
    judge's own name for the sort of request, "" where there is none.
    """

    id: str
    request: str
    required: frozenset[str]
    acceptable: frozenset[str]
    kind: str
    groups: tuple[frozenset[str], ...] = ()
    slice: str = ""

    @property
    def steps(self) -> tuple[frozenset[str], ...]:
        """What full recall counts: each group, or each required tool as a group of one."""
        return self.groups or tuple(frozenset({tool_id}) for tool_id in sorted(self.required))


def judgements_of(folder: Path) -> Path | None:
    """The file of judged requests in a folder: a benchmark's queries.jsonl, else a catalog's judgements.jsonl."""
    files = (folder / name for name in ("queries.jsonl", "judgements.jsonl"))
    return next((file for file in files if file.is_file()), None)


def read_judgements(path: Path) -> list[Judgement]:
    """Judgements from JSONL. Raises SettingsInvalid, with file and line, where one cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # not splitlines(): a request may hold U+2028
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"the judged requests {path} cannot be read: {error}") from error
    judgements = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if row["kind"] not in ("single", "multi", "none"):
                raise ValueError(f"kind is {row['kind']!r}, it must be single, multi or none")
            judgements.append(
                Judgement(
                    str(row["id"]),
                    _text(row["query"]),
                    _ids(row["required"]),
                    _ids(row["acceptable"]),
                    row["kind"],
                    tuple(_ids(group) for group in row.get("groups") or ()),
                    _text(row.get("slice") or ""),
                )
            )
        except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise SettingsInvalid(f"{path}, line {number}: not a judged request: {error!r}") from error
    return judgements


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _ids(value: object) -> frozenset[str]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list of tool ids")
    return frozenset(_text(item) for item in value)


def recall(ranking: Sequence[str], judgement: Judgement) -> float:
    """1 where at least one acceptable tool is in the top K, else 0."""
    return float(any(tool_id in judgement.acceptable for tool_id in ranking[:K]))


def hit(ranking: Sequence[str], judgement: Judgement) -> float:
    """1 where the first tool is acceptable, else 0."""
    return float(bool(ranking) and ranking[0] in judgement.acceptable)


def reciprocal_rank(ranking: Sequence[str], judgement: Judgement) -> float:
    """1 / rank of the first acceptable tool, 0 past K."""
    ranks = (rank for rank, tool_id in enumerate(ranking[:K], 1) if tool_id in judgement.acceptable)
    return 1 / next(ranks, math.inf)


def full_recall(ranking: Sequence[str], judgement: Judgement) -> float:
    """The share of steps with a tool in the top K."""
    top = set(ranking[:K])
    return sum(bool(step & top) for step in judgement.steps) / len(judgement.steps)


def ndcg(ranking: Sequence[str], judgement: Judgement) -> float:
    """Discounted gain, 1 for a tool acceptable or required, over that of the best possible top K."""
    relevant = judgement.acceptable | judgement.required
    gain = sum(1 / math.log2(rank + 1) for rank, tool_id in enumerate(ranking[:K], 1) if tool_id in relevant)
    return gain / sum(1 / math.log2(rank + 1) for rank in range(1, min(K, len(relevant)) + 1))


METRICS = ("recall@10", "hit@1", "mrr@10", "full@10", "multi@10", "ndcg@10")


def evaluate(rankings: Iterable[tuple[Sequence[str], Judgement]]) -> dict[str, float | None]:
    """Means of the six metrics over rankings with their judgements; None for a metric that no request has."""
    answerable = [(ranking, judgement) for ranking, judgement in rankings if judgement.kind != "none"]
    found = [pair for pair in answerable if pair[1].acceptable]
    stepped = [pair for pair in answerable if pair[1].steps]
    relevant = [pair for pair in answerable if pair[1].acceptable | pair[1].required]
    values: Mapping[str, list[float]] = {
        "recall@10": [recall(*pair) for pair in found],
        "hit@1": [hit(*pair) for pair in found],
        "mrr@10": [reciprocal_rank(*pair) for pair in found],
        "full@10": [full_recall(*pair) for pair in stepped],
        "multi@10": [full_recall(*pair) for pair in stepped if pair[1].kind == "multi"],
        "ndcg@10": [ndcg(*pair) for pair in relevant],
    }
    return {metric: math.fsum(values[metric]) / len(values[metric]) if values[metric] else None for metric in METRICS}
