"""Filters after the search: thresholds on the candidates, tools of one provider, and the order by combined score."""

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from router.errors import SettingsInvalid
from router.record import ToolRecord
from router.selection.relevance import RelevanceQuery, combined_score, relevance_signals, token_overlap, tokens
from router.selection.settings import Selection

Cosines = NDArray[np.float64]


class FilteredCandidates(msgspec.Struct, frozen=True):
    """The candidates that a selection keeps: `places` are positions among the candidates, best first.

    `refused` are the positions of the others, in their order, each with the filter's name and its reason.
    """

    places: tuple[int, ...]
    refused: tuple[tuple[int, str, str], ...] = msgspec.field(default=())


def filter_candidates(
    selection: Selection,
    request: str,
    category: str | None,
    records: Sequence[ToolRecord],
    cosines: Callable[[], Cosines | None],
) -> FilteredCandidates:
    """Return the candidates that pass a selection's thresholds and its limit by provider.

    They are ordered by the combined score where it has weights. `records` are the candidates, best first; equal scores
    keep that order. `cosines` is called only where cosines count: it returns those of the request and each record,
    float64 (records,), or None without an encoder. Raises SettingsInvalid where they count and are None.
    """
    query = RelevanceQuery(tokens(request), category)
    kept, refused, scores = [], [], {}
    scored = bool(selection.min_combined_score or selection.weights.any_set)
    weights = selection.weights.resolved()
    similar = _cosines(cosines, weights["embed"], len(records)) if scored else np.zeros(len(records))
    for place, record in enumerate(records):
        if (shared := token_overlap(record, query.unique)) < selection.min_lexical_overlap:
            reason = f"tokens shared with the request: {shared}, required: {selection.min_lexical_overlap}"
            refused.append((place, "lexical overlap", reason))
            continue
        if scored:
            scores[place] = combined_score(relevance_signals(record, query, float(similar[place]), shared), weights)
            if scores[place] < selection.min_combined_score:
                reason = f"combined score: {scores[place]:.3f}, required: {selection.min_combined_score:g}"
                refused.append((place, "combined score", reason))
                continue
        kept.append(place)
    if selection.weights.any_set:
        kept.sort(key=lambda place: (-scores[place], place))
    if selection.max_per_provider is not None:
        kept, beyond = _within_providers(kept, records, selection.max_per_provider)
        refused = sorted(refused + beyond)
    return FilteredCandidates(tuple(kept), tuple(refused))


def _within_providers(
    places: Sequence[int], records: Sequence[ToolRecord], most: int
) -> tuple[list[int], list[tuple[int, str, str]]]:
    """Return the places of the first `most` tools of each provider, and refusals of the others.

    Tools without a provider are not counted together.
    """
    counts: Counter[str] = Counter()
    kept, refused = [], []
    for place in places:
        provider = records[place].provider
        if provider is not None and counts[provider] == most:
            refused.append((place, "provider", f"tools of {provider} before it: {most}, which is max_per_provider"))
            continue
        if provider is not None:
            counts[provider] += 1
        kept.append(place)
    return kept, refused


def _cosines(cosines: Callable[[], Cosines | None], weight: float, count: int) -> Cosines:
    """Return the cosines, float64 (count,); zeros where their weight is 0."""
    if not weight:
        return np.zeros(count)
    similarities = cosines()
    if similarities is None:
        raise SettingsInvalid(
            "selection: weights.embed counts the cosine of request and tool, and this snapshot or recipe has no "
            "vectors: set weights.embed = 0 and another weight"
        )
    return similarities
