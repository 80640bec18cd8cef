"""The candidates that a selection keeps, in its order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from router.errors import SettingsInvalid
from router.record import ToolRecord
from router.selection.relevance import RelevanceQuery, combined_score, relevance_signals, token_overlap, tokens
from router.selection.settings import Selection

Cosines = NDArray[np.float64]


@dataclass(frozen=True)
class FilteredCandidates:
    """What is kept of some candidates: `places`, positions among them, best first. `refused` are the others' positions,
    in their order, each with the filter's name and what it said."""

    places: tuple[int, ...]
    refused: tuple[tuple[int, str, str], ...] = field(default=())


def filter_candidates(
    selection: Selection,
    request: str,
    category: str | None,
    records: Sequence[ToolRecord],
    cosines: Callable[[], Cosines | None],
) -> FilteredCandidates:
    """Hold candidates, best first, against a selection's thresholds, and order them where it has weights.

    `cosines` gives those of request and tools, shape (len(records),), None without an encoder; it is called where they
    count. Equal scores keep the order before. Raises SettingsInvalid where they count and there are none.
    """
    asked = RelevanceQuery(tokens(request), category)
    kept, refused, scores = [], [], {}
    scored = bool(selection.min_combined_score or selection.weights.any_set)
    weights = selection.weights.resolved()
    similar = _cosines(cosines, weights["embed"], len(records)) if scored else np.zeros(len(records))
    for place, record in enumerate(records):
        if (shared := token_overlap(record, asked.unique)) < selection.min_lexical_overlap:
            said = f"tokens shared with the request: {shared}, required: {selection.min_lexical_overlap}"
            refused.append((place, "lexical overlap", said))
            continue
        if scored:
            scores[place] = combined_score(relevance_signals(record, asked, float(similar[place]), shared), weights)
            if scores[place] < selection.min_combined_score:
                said = f"combined score: {scores[place]:.3f}, required: {selection.min_combined_score:g}"
                refused.append((place, "combined score", said))
                continue
        kept.append(place)
    if selection.weights.any_set:
        kept.sort(key=lambda place: (-scores[place], place))
    return FilteredCandidates(tuple(kept), tuple(refused))


def _cosines(cosines: Callable[[], Cosines | None], weight: float, count: int) -> Cosines:
    """The cosines, where they count."""
    if not weight:
        return np.zeros(count)
    found = cosines()
    if found is None:
        raise SettingsInvalid(
            "selection: weights.embed counts the cosine of request and tool, and this snapshot or recipe has no "
            "vectors: set weights.embed = 0 and another weight"
        )
    return found
