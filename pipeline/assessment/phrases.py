"""One phrase at a time: does it fit its own tool, and which others does it fit as well?"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pipeline.assessment.space import TIE, Fit, Space
from pipeline.settings import AssessmentSettings

_MOST_SIBLINGS = 3
# One phrase that a neighbour could have said is no collision of two tools.
_FEWEST_SHARED = 2


@dataclass
class Judged:
    """By row of the phrases the other tool's ordinal; by tool the ordinals of its siblings."""

    inconsistent: dict[int, int] = field(default_factory=dict)
    collisions: dict[int, int] = field(default_factory=dict)
    siblings: dict[int, tuple[int, ...]] = field(default_factory=dict)


def judge_phrases(space: Space, settings: AssessmentSettings) -> Judged:
    """Score each phrase against each tool: the mean of its cosines with the record and with the tool's phrases.

    With its own tool's it is the mean over the other phrases, for a phrase is no witness of itself; a tool without
    phrases, or without another, has its record alone.
    """
    counts = np.diff(space.offsets)
    sums = space.sums()
    divisor = np.maximum(counts, 1)[:, None].astype(np.float32)
    means = np.where(space.judged[:, None], sums / divisor, space.records)
    centres = ((space.records + means) / 2).T
    judged = Judged()
    for tools in space.blocks(counts):
        rows = np.concatenate([np.arange(space.offsets[tool], space.offsets[tool + 1]) for tool in tools])
        vectors, owners = space.phrases[rows], space.owners[rows]
        record = np.einsum("ij,ij->i", vectors, space.records[owners])
        others = np.einsum("ij,ij->i", vectors, sums[owners]) - np.einsum("ij,ij->i", vectors, vectors)
        rest = counts[owners] - 1
        own = (record + np.where(rest > 0, others / np.maximum(rest, 1), record)).astype(np.float32) / 2
        scores = vectors @ centres
        fit = space.fit(scores, owners, own)
        dropped = _inconsistent(fit, owners, settings)
        judged.inconsistent.update(zip(rows[dropped].tolist(), fit.best[dropped].tolist(), strict=True))
        _siblings(judged, scores, own, tools, rows, dropped, counts, settings.sibling_share)
    return judged


def _inconsistent(fit: Fit, owners: NDArray[np.int64], settings: AssessmentSettings) -> NDArray[np.bool_]:
    """Rows that fit their own tool no better than chance and another far better; at most half of a tool's phrases."""
    found = (fit.own < settings.inconsistent_fit) & (fit.lead > settings.inconsistent_lead)
    for tool in np.unique(owners[found]):
        of_tool = np.flatnonzero(owners == tool)
        worst = sorted(of_tool[found[of_tool]], key=lambda row: (-fit.lead[row], row))
        found[worst[len(of_tool) // 2 :]] = False
    return found


def _siblings(
    judged: Judged,
    scores: NDArray[np.float32],
    own: NDArray[np.float32],
    tools: NDArray[np.int64],
    rows: NDArray[np.int64],
    dropped: NDArray[np.bool_],
    counts: NDArray[np.int64],
    share: float,
) -> None:
    """Add the siblings of some tools, and the phrases that collide with one of them."""
    fits = scores >= (own - TIE)[:, None]
    fits[dropped] = False
    starts = np.cumsum([0, *counts[tools][:-1]])
    shared = np.add.reduceat(fits, starts, axis=0, dtype=np.int32)
    for position, tool in enumerate(tools.tolist()):
        first, last = int(starts[position]), int(starts[position] + counts[tool])
        near = np.flatnonzero(shared[position] >= max(_FEWEST_SHARED, share * counts[tool]))
        if not len(near):
            continue
        # Of those with as many phrases, the one that they fit best.
        total = np.round(np.where(fits[first:last, near], scores[first:last, near], 0).sum(axis=0), 4)
        order = np.lexsort((near, -total, -shared[position, near]))
        chosen = near[order][:_MOST_SIBLINGS]
        judged.siblings[tool] = tuple(chosen.tolist())
        for row in range(first, last):
            held = [other for other in chosen.tolist() if fits[row, other]]
            if held:
                judged.collisions[int(rows[row])] = max(held, key=lambda other: (round(scores[row, other], 4), -other))
