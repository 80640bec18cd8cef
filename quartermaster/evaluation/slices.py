"""Sort requests into slices: as they are judged, by kind, by length, and by whether they name a provider."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quartermaster.evaluation.abstention import auc, auc_difference
from quartermaster.evaluation.judgements import KINDS, Judgement
from quartermaster.evaluation.measurement import Measurement
from quartermaster.evaluation.metrics import METRICS, by_key, means
from quartermaster.evaluation.resampling import differences, holm
from router.text import identifier_words, pretokenize, terms

# Words as the index counts them: a search box's worth; a sentence; a few sentences; a paragraph with its data.
# See docs/decisions/evaluation.md.
_LENGTHS = ((4, "1-4 words"), (15, "5-15 words"), (40, "16-40 words"))
_LONGER = "over 40 words"


def slices(
    judgements: Sequence[Judgement], provider_of: Callable[[str], str | None]
) -> dict[str, dict[str, list[int]]]:
    """Return the positions of the requests of each slice: by kind, by provider, by length.

    `provider_of` returns the provider of a tool id. Slices without requests are left out, and so is "provider" where no
    required tool has one. A request that no tool answers has no provider.
    """
    positions: dict[str, dict[str, list[int]]] = {
        "kind": {kind: [] for kind in KINDS},
        "provider": {"named": [], "not named": []},
        "length": {name: [] for name in (*(name for _, name in _LENGTHS), _LONGER)},
    }
    for position, judgement in enumerate(judgements):
        positions["kind"][judgement.kind].append(position)
        positions["length"][length(judgement.request)].append(position)
        primary = judgement.required.union(*judgement.groups) or judgement.acceptable
        providers = {provider for tool_id in primary if (provider := provider_of(tool_id))}
        if judgement.kind != "none" and providers:
            named = any(names(judgement.request, provider) for provider in providers)
            positions["provider"]["named" if named else "not named"].append(position)
    filled = {by: {name: places for name, places in of.items() if places} for by, of in positions.items()}
    return {by: of for by, of in filled.items() if of}


def judged_slices(judgements: Sequence[Judgement]) -> dict[str, list[int]]:
    """Return the positions of the requests of each slice that the judgements name, sorted by its name."""
    names_of = sorted({judgement.slice for judgement in judgements} - {""})
    return {name: [i for i, judgement in enumerate(judgements) if judgement.slice == name] for name in names_of}


def length(request: str) -> str:
    """Return the name of the slice for a request's length."""
    count = len(pretokenize(request).split())
    return next((name for most, name in _LENGTHS if count <= most), _LONGER)


def names(request: str, provider: str) -> bool:
    """Return whether a request has every word of a provider's name, or the name as one word: "GitHub", "git hub"."""
    request_terms = set(terms(request))
    parts = identifier_words(provider)
    return any(wanted and set(wanted) <= request_terms for wanted in (terms(" ".join(parts)), terms("".join(parts))))


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
