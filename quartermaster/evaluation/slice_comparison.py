"""Compare measurements of the same requests slice by slice, and in how they tell requests that no tool answers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quartermaster.evaluation.abstention import auc, auc_difference
from quartermaster.evaluation.measurement import Measurement
from quartermaster.evaluation.metrics import METRICS, by_key, means
from quartermaster.evaluation.resampling import differences, holm
from quartermaster.evaluation.slices import judged_slices, slices


def compared_slices(first: Measurement, second: Measurement) -> dict[str, dict[str, Any]]:
    """Return the differences of the fused lists (first less second) by sort of slice and slice, as JSON.

    A slice has `queries`, the metrics of the `first` and the `second`, and the `difference` by metric, whose p is
    corrected for the number of slices (Holm). "slice" are the slices that the judgements name; a slice without a
    request that some tool answers is left out.
    """
    sorts = {"slice": judged_slices(first.judgements), **slices(first.judgements, first.provider_of)}
    tables = first.scores(), second.scores()
    rows = {
        sort: {name: row for name, places in of_sort.items() if (row := _row(tables, places))}
        for sort, of_sort in sorts.items()
    }
    rows = {sort: of_sort for sort, of_sort in rows.items() if of_sort}
    correct_for_number([row["difference"] for of_sort in rows.values() for row in of_sort.values()])
    return rows


def compared_abstention(first: Measurement, second: Measurement) -> dict[str, Any] | None:
    """Return as JSON the AUCs of the `first` and the `second` probability that some tool fits, and the `difference`.

    None where one of them gives no probability, or no request is of kind none.
    """
    pairs = [
        (one.fits, other.fits, one.judgement.kind != "none")
        for one, other in zip(first.results, second.results, strict=True)
        if one.fits is not None and other.fits is not None
    ]
    answerable = np.array([fitting for _, _, fitting in pairs], np.bool_)
    if not answerable.any() or answerable.all():
        return None
    here, there = (np.array(column, np.float64) for column in list(zip(*pairs, strict=True))[:2])
    difference = auc_difference(here, there, answerable).to_json()
    return {"first": auc(here, answerable), "second": auc(there, answerable), "difference": difference}


def _row(tables: Sequence[NDArray[np.float64]], places: Sequence[int]) -> dict[str, Any] | None:
    """Return the comparison of one slice; None where no request of it has a metric."""
    first, second = (table[list(places)] for table in tables)
    if np.isnan(first).all():
        return None
    changes = by_key(differences(first, second))
    return {
        "queries": len(places),
        "first": means(first),
        "second": means(second),
        "difference": {key: change.to_json() if change else None for key, change in changes.items()},
    }


def correct_for_number(changes: Sequence[Mapping[str, Any]]) -> None:
    """Correct the p of each metric, in place, for the number of comparisons that have the metric (Holm)."""
    for metric in METRICS:
        of_metric = [change[metric.key] for change in changes if change[metric.key]]
        for change, p in zip(of_metric, holm([change["p"] for change in of_metric]), strict=True):
            change["p"] = p
