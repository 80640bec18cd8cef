"""Measure an encoder on requests that it has not been trained on: does it find their tools, and only theirs?"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quartermaster.evaluation.resampling import differences, intervals
from quartermaster.training.requests import TrainingPairs

Floats = NDArray[np.float64]
Encode = Callable[[Sequence[str]], NDArray[np.float32]]  # L2-normalised vectors of texts, (texts, dim)

# Below the usual .05, because a wrong yes costs a re-embedding of every catalog that names the encoder.
SIGNIFICANCE = 0.02


def is_gain(gain: Mapping[str, Any]) -> bool:
    """Return whether the requests of all catalogs gained beyond chance, by what `measure_gain` returns."""
    difference = gain["rows"][0]["difference"]
    return bool(difference and difference["difference"] > 0 and difference["p"] <= SIGNIFICANCE)


def reciprocal_ranks(encode: Encode, pairs: TrainingPairs, rows: NDArray[np.int64], prefix: str) -> Floats:
    """Return 1 / rank of the tool of each pair in `rows` among the tools of its catalog, by the tools' texts.

    The other tools that a request needs stand in nobody's way.
    """
    requests = encode([prefix + pairs.requests[row] for row in rows.tolist()])
    return _ranks(encode(pairs.tools) @ requests.T, pairs, rows)


def measure_gain(
    before: Encode, after: Encode, pairs: TrainingPairs, names: Sequence[str], background: Sequence[str], prefix: str
) -> dict[str, Any]:
    """Return what the pairs that judge gained by training, JSON-ready: `rows` by catalog, that of all first.

    A row has `catalog`, `requests`, `before` and `after` (each `mrr`, the mean reciprocal rank of the requests' tools
    by the tools' texts, with its `interval`), and their `difference` with interval and p. `mistaken` is the chance that
    an everyday request scores as high as a held-out request, before and after.
    """
    rows = pairs.judging
    texts = [prefix + text for text in (*(pairs.requests[row] for row in rows.tolist()), *background)]
    ranks, mistaken = [], []
    for encode in (before, after):
        scores = encode(pairs.tools) @ encode(texts).T
        ranks.append(_ranks(scores[:, : len(rows)], pairs, rows))
        mistaken.append(round(_mistaken(scores[:, : len(rows)], scores[:, len(rows) :]), 4))
    of = pairs.group[pairs.owners[rows]]
    groups = [("all", np.ones(len(of), bool)), *((name, of == number) for number, name in enumerate(names))]
    table = [_row(name, ranks[0][mask], ranks[1][mask]) for name, mask in groups if mask.any()]
    return {"rows": table, "mistaken": mistaken}


def _ranks(scores: NDArray[np.float32], pairs: TrainingPairs, rows: NDArray[np.int64]) -> Floats:
    ranks = np.empty(len(rows))
    for column, row in enumerate(rows.tolist()):
        owner = int(pairs.owners[row])
        rivals = pairs.group == pairs.group[owner]
        rivals[list(pairs.needed[pairs.requests[row]])] = False
        ranks[column] = 1 / (1 + int((scores[rivals, column] > scores[owner, column]).sum()))
    return ranks


def _mistaken(requests: NDArray[np.float32], everyday: NDArray[np.float32]) -> float:
    """Return the mean share of the requests whose best z-score is no higher than that of an everyday request.

    This is 1 less the area under the curve that tells requests for the catalog from everyday ones. Scores have the
    shape (tools, requests).
    """
    mean, deviation = everyday.mean(axis=1, keepdims=True), everyday.std(axis=1, keepdims=True)
    deviation = (deviation + deviation.mean()) / 2
    of_everyday, of_requests = (((s - mean) / deviation).max(axis=0) for s in (everyday, requests))
    return float(np.mean(np.searchsorted(np.sort(of_requests), of_everyday, side="right") / len(of_requests)))


def _row(name: str, before: Floats, after: Floats) -> dict[str, Any]:
    bounds = intervals(np.stack([before, after], axis=1))
    (difference,) = differences(after[:, None], before[:, None])
    figures = [
        {"mrr": round(float(ranks.mean()), 4), "interval": bound}
        for ranks, bound in zip((before, after), bounds, strict=True)
    ]
    return {
        "catalog": name,
        "requests": len(before),
        "before": figures[0],
        "after": figures[1],
        "difference": difference.to_json() if difference else None,
    }
