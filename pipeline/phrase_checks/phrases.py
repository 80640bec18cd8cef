"""Judge one phrase at a time: does it fit its own tool, and which others does it fit as well?"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pipeline.phrase_checks.comparison import CatalogComparison, ComparisonCache, phrase_keys, tool_keys
from pipeline.phrase_checks.vectors import AssessedTool, CatalogVectors, Competitors, ScoreDistribution
from pipeline.settings import AssessmentSettings

_MOST_SIBLINGS = 3
# Two tools collide only where several phrases fit both: a single one could have been said of any neighbour.
_FEWEST_SHARED = 2


@dataclass(frozen=True, slots=True)
class PhraseFindings:
    """Findings by row of the phrases (value: the other tool's ordinal), and each tool's siblings, by ordinals."""

    inconsistent: dict[int, int] = field(default_factory=dict)
    collisions: dict[int, int] = field(default_factory=dict)
    siblings: dict[int, tuple[int, ...]] = field(default_factory=dict)


def judge_phrases(
    catalog: CatalogVectors, tools: Sequence[AssessedTool], settings: AssessmentSettings, cache: ComparisonCache
) -> PhraseFindings:
    """Score each phrase against each tool: the mean of its cosines with the record and with the tool's phrases.

    At its own tool a phrase is compared with the other phrases, not with itself. A tool without other phrases is
    represented by its record.
    """
    counts = np.diff(catalog.offsets)
    sums = catalog.sums()
    centres = ((catalog.records + catalog.means(sums)) / 2).astype(np.float32, copy=False)
    distribution = ScoreDistribution.of(centres)
    columns = tool_keys(tools, catalog.judged)
    is_own = np.array([own for tool in tools for own in tool.own_phrases], bool)
    comparison = CatalogComparison(catalog, centres, phrase_keys(tools, columns), columns, cache, "phrases")
    findings = PhraseFindings()
    for run in catalog.runs(counts):
        rows = np.flatnonzero(np.isin(catalog.owners, run))
        texts, owners = catalog.phrases[rows], catalog.owners[rows]
        own = _own_scores(catalog, sums, texts, owners)
        competitors = comparison.competitors(rows, texts, owners, own)
        judgeable = competitors.take(~is_own[rows][competitors.rows])
        wrong = _inconsistent(judgeable, distribution, centres, texts, owners, own, settings)
        findings.inconsistent.update((int(rows[row]), other) for row, other in wrong.items())
        if wrong:
            competitors = competitors.take(~np.isin(competitors.rows, list(wrong)))
        shared, siblings = _siblings(competitors, owners, counts, settings.sibling_share)
        findings.siblings.update(siblings)
        collisions = competitors.take(shared)
        best_first = np.lexsort((collisions.tools, -np.round(collisions.scores, 5), collisions.rows))
        texts_of, first = np.unique(collisions.rows[best_first], return_index=True)
        others = collisions.tools[best_first][first]
        findings.collisions.update(zip(rows[texts_of].tolist(), others.tolist(), strict=True))
    comparison.keep()
    return findings


def _own_scores(
    catalog: CatalogVectors, sums: NDArray[np.float32], texts: NDArray[np.float32], owners: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the scores (rows,) of phrases (rows, dim) at their own tools."""
    record = np.einsum("ij,ij->i", texts, catalog.records[owners])
    rest = np.diff(catalog.offsets)[owners] - 1
    others = np.einsum("ij,ij->i", texts, sums[owners] - texts) / np.maximum(rest, 1)
    scores: NDArray[np.float32] = ((record + np.where(rest > 0, others, record)) / 2).astype(np.float32)
    return scores


def _inconsistent(
    competitors: Competitors,
    distribution: ScoreDistribution,
    centres: NDArray[np.float32],
    texts: NDArray[np.float32],
    owners: NDArray[np.int64],
    own: NDArray[np.float32],
    settings: AssessmentSettings,
) -> dict[int, int]:
    """Return {row: other tool} for rows that fit their tool no better than chance, and another far better.

    Of each tool these are at most half of its phrases, the worst.
    """
    rows, highest, best = competitors.best()
    fit, lead = distribution.fit_and_lead(texts[rows], centres[owners[rows]], own[rows], highest)
    wrong = np.flatnonzero((fit < settings.inconsistent_fit) & (lead > settings.inconsistent_lead))
    inconsistent: dict[int, int] = {}
    for tool in np.unique(owners[rows[wrong]]).tolist():
        of_tool = [place for place in wrong.tolist() if owners[rows[place]] == tool]
        worst = sorted(of_tool, key=lambda place: -lead[place])[: int((owners == tool).sum()) // 2]
        inconsistent.update((int(rows[place]), int(best[place])) for place in worst)
    return inconsistent


def _siblings(
    competitors: Competitors, owners: NDArray[np.int64], counts: NDArray[np.int64], share: float
) -> tuple[NDArray[np.bool_], dict[int, tuple[int, ...]]]:
    """Return a mask of the entries between siblings, and by tool its siblings: at most three, the most phrases first.

    A tool's siblings are those that at least `share` of its phrases fit as well or better. Ties are broken by total
    score, then by ordinal.
    """
    pairs, inverse, shared = np.unique(
        owners[competitors.rows] * len(counts) + competitors.tools, return_inverse=True, return_counts=True
    )
    tools, others = np.divmod(pairs, len(counts))
    totals = np.bincount(inverse, competitors.scores, len(pairs))
    near = np.flatnonzero(shared >= np.maximum(_FEWEST_SHARED, share * counts[tools]))
    # Totals are rounded, because their last bits are noise.
    near = near[np.lexsort((others[near], -np.round(totals[near], 5), -shared[near], tools[near]))]
    place = np.arange(len(near)) - np.searchsorted(tools[near], tools[near])
    near = near[place < _MOST_SIBLINGS]
    siblings: dict[int, tuple[int, ...]] = {}
    for tool, other in zip(tools[near].tolist(), others[near].tolist(), strict=True):
        siblings[tool] = (*siblings.get(tool, ()), other)
    return np.isin(inverse, near), siblings
