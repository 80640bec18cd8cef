"""One phrase at a time: does it fit its own tool, and which others does it fit as well?"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pipeline.phrase_checks.catalog.assessed_tool import AssessedTool
from pipeline.phrase_checks.catalog.comparison_cache import CatalogComparison, ComparisonCache, phrase_keys, tool_keys
from pipeline.phrase_checks.catalog.vectors import CatalogVectors, Competitors, ScoreDistribution
from pipeline.settings import AssessmentSettings

_MOST_SIBLINGS = 3
# One phrase that a neighbour could have said is no collision of two tools.
_FEWEST_SHARED = 2


@dataclass(frozen=True, slots=True)
class PhraseFindings:
    """By row of the phrases the other tool's ordinal; by tool the ordinals of its siblings."""

    inconsistent: dict[int, int] = field(default_factory=dict)
    collisions: dict[int, int] = field(default_factory=dict)
    siblings: dict[int, tuple[int, ...]] = field(default_factory=dict)


def judge_phrases(
    space: CatalogVectors, subjects: Sequence[AssessedTool], settings: AssessmentSettings, memory: ComparisonCache
) -> PhraseFindings:
    """Score each phrase against each tool: the mean of its cosines with the record and with the tool's phrases.

    With its own tool's it is the mean over the other phrases, for a phrase is no witness of itself; a tool without
    phrases, or without another, has its record alone.
    """
    counts = np.diff(space.offsets)
    sums = space.sums()
    centres = ((space.records + space.means(sums)) / 2).astype(np.float32, copy=False)
    spread = ScoreDistribution.of(centres)
    columns = tool_keys(subjects, space.judged)
    keys = phrase_keys(subjects, columns)
    is_own = np.array([own for subject in subjects for own in subject.own_phrases], bool)
    comparison = CatalogComparison(space, centres, columns, memory.before.get("phrases"))
    judged = PhraseFindings()
    for tools in space.runs(counts):
        rows = np.concatenate([np.arange(space.offsets[tool], space.offsets[tool + 1]) for tool in tools.tolist()])
        texts, owners = space.phrases[rows], space.owners[rows]
        own = _own(space, sums, texts, owners)
        fits = comparison.fits(texts, keys[rows], owners, own)
        judgeable = fits.take(~is_own[rows][fits.rows])
        wrong = _inconsistent(judgeable, spread, centres, texts, owners, own, settings)
        judged.inconsistent.update((int(rows[row]), other) for row, other in wrong.items())
        if wrong:
            fits = fits.take(~np.isin(fits.rows, list(wrong)))
        shared, siblings = _siblings(fits, owners, counts, settings.sibling_share)
        judged.siblings.update(siblings)
        collisions = fits.take(shared)
        best_first = np.lexsort((collisions.tools, -np.round(collisions.scores, 5), collisions.rows))
        texts_of, first = np.unique(collisions.rows[best_first], return_index=True)
        others = collisions.tools[best_first][first]
        judged.collisions.update(zip(rows[texts_of].tolist(), others.tolist(), strict=True))
    memory.now["phrases"] = comparison.compared()
    return judged


def _own(
    space: CatalogVectors, sums: NDArray[np.float32], texts: NDArray[np.float32], owners: NDArray[np.int64]
) -> NDArray[np.float32]:
    """What phrases (rows, dim) score at their own tools."""
    record = np.einsum("ij,ij->i", texts, space.records[owners])
    rest = np.diff(space.offsets)[owners] - 1
    others = np.einsum("ij,ij->i", texts, sums[owners] - texts) / np.maximum(rest, 1)
    found: NDArray[np.float32] = ((record + np.where(rest > 0, others, record)) / 2).astype(np.float32)
    return found


def _inconsistent(
    fits: Competitors,
    spread: ScoreDistribution,
    centres: NDArray[np.float32],
    texts: NDArray[np.float32],
    owners: NDArray[np.int64],
    own: NDArray[np.float32],
    settings: AssessmentSettings,
) -> dict[int, int]:
    """The rows that fit their tool no better than chance and another far better, with that other: of each tool at most
    half of its phrases, the worst."""
    rows, highest, best = fits.best()
    mean, deviation = spread.standard(texts[rows], centres[owners[rows]], own[rows])
    fit = (np.round(own[rows], 6) - mean) / deviation
    lead = (np.round(highest, 6) - np.round(own[rows], 6)) / deviation
    wrong = np.flatnonzero((fit < settings.inconsistent_fit) & (lead > settings.inconsistent_lead))
    found: dict[int, int] = {}
    for tool in np.unique(owners[rows[wrong]]).tolist():
        of_tool = [place for place in wrong.tolist() if owners[rows[place]] == tool]
        worst = sorted(of_tool, key=lambda place: -lead[place])[: int((owners == tool).sum()) // 2]
        found.update((int(rows[place]), int(best[place])) for place in worst)
    return found


def _siblings(
    fits: Competitors, owners: NDArray[np.int64], counts: NDArray[np.int64], share: float
) -> tuple[NDArray[np.bool_], dict[int, tuple[int, ...]]]:
    """By tool the tools that enough of its phrases fit as well or better, the most phrases first, at most three; and
    which of the entries are of such a pair. Of tools with as many phrases the one goes first that they fit best."""
    pairs, inverse, shared = np.unique(
        owners[fits.rows] * len(counts) + fits.tools, return_inverse=True, return_counts=True
    )
    tools, others = np.divmod(pairs, len(counts))
    totals = np.bincount(inverse, fits.scores, len(pairs))
    near = np.flatnonzero(shared >= np.maximum(_FEWEST_SHARED, share * counts[tools]))
    # Equal scores by ordinal; their last bits are noise.
    near = near[np.lexsort((others[near], -np.round(totals[near], 5), -shared[near], tools[near]))]
    place = np.arange(len(near)) - np.searchsorted(tools[near], tools[near])
    near = near[place < _MOST_SIBLINGS]
    found: dict[int, tuple[int, ...]] = {}
    for tool, other in zip(tools[near].tolist(), others[near].tolist(), strict=True):
        found[tool] = (*found.get(tool, ()), other)
    return np.isin(inverse, near), found
