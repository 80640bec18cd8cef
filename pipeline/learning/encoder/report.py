"""Tell what a training gained, with 95 % intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pipeline.learning.encoder.measuring import Space, judging
from pipeline.learning.encoder.model import encode
from pipeline.learning.encoder.pairs import TrainingPairs
from quartermaster.evaluation.resampling import differences, intervals


@dataclass(frozen=True)
class GainReport:
    """What held-out requests gained: rows of figures by catalog, that of all first.

    A row has `catalog`, `requests`, `before` and `after` (each `mrr`, the mean reciprocal rank of the requests' tools
    by the tools' texts, with its `interval`), and their `difference` with interval and p. `mistaken` is the chance that
    an everyday request scores as high as a held-out request, before and after.
    """

    rows: Sequence[dict[str, Any]]
    mistaken: tuple[float, float]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {"rows": list(self.rows), "mistaken": list(self.mistaken)}


def measure_gain(
    untrained: Any, trained: Any, pairs: TrainingPairs, names: Sequence[str], background: Sequence[str], prefix: str
) -> GainReport:
    """Return what the held-out requests that judge gained by training, of all catalogs and of each."""
    none_kept = np.empty(0, np.int64)
    spaces = [
        Space.encoded(pairs, none_kept, background, partial(encode, model), prefix) for model in (untrained, trained)
    ]
    before, after = (space.reciprocal_ranks() for space in spaces)
    of = pairs.group[pairs.owners[judging(pairs)]]
    groups = [("all", np.ones(len(of), bool)), *((name, of == number) for number, name in enumerate(names))]
    rows = [_row(name, before[rows], after[rows]) for name, rows in groups if rows.any()]
    mistaken = [round(float(space.mistaken().mean()), 4) for space in spaces]
    return GainReport(rows, (mistaken[0], mistaken[1]))


def _row(name: str, before: Any, after: Any) -> dict[str, Any]:
    bounds = intervals(np.stack([before, after], axis=1))
    (difference,) = differences(after[:, None], before[:, None])
    figures = [
        {"mrr": round(float(ranks.mean()), 4), "interval": list(bound) if bound else None}
        for ranks, bound in zip((before, after), bounds, strict=True)
    ]
    return {
        "catalog": name,
        "requests": len(before),
        "before": figures[0],
        "after": figures[1],
        "difference": difference.to_json() if difference else None,
    }
