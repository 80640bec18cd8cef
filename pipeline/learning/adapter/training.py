"""Train the query adapter: a linear map that moves requests towards the tools of one catalog.

A phrase looks like a request, and its tool is known. So z = normalize(q + qA) is trained to bring each phrase near the
record of its own tool and away from the other tools' records: by InfoNCE (van den Oord, Li and Vinyals, 2018) with L2
on A, and Adam (Kingma and Ba, ICLR 2015). No labels and no requests are needed.

A quarter of each tool's phrases is held out to decide when to stop, by how well the whole dense signal finds their
tools. Where the adapter does not improve this beyond chance, there is none. See docs/decisions/encoder.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pipeline.sentences import counted
from quartermaster.evaluation.resampling import chance
from router.encoding.encoder import apply_adapter
from router.retrieval.retrievers import DenseView, blend

_TEMPERATURE = 0.05
_L2 = 0.01
_RATE = 1e-3
_BATCH = 64
_EPOCHS = 12
_MOST_STEPS = 1_600  # some ten seconds for any catalog: 12 epochs of 3,000 phrases are 560 steps
_CANDIDATES = 512
_SIBLINGS = 4
_CHECKS = 12
_MOST_LEFT_OUT = 1_000
FEWEST_PHRASES = 100
_SIGNIFICANCE = 0.02  # below the usual .05: the same phrases decide when to stop and whether it helps
_ROWS_AT_ONCE = 256
_TOOLS_AT_ONCE = 2_048


@dataclass(frozen=True)
class PhraseSpace:
    """L2-normalised float32 vectors of a catalog.

    `records` (tools, dim) are of the tools' records, without their expansions; `documents` (tools, dim) and `phrases`
    (phrases, dim) are as in the snapshot. `owners`, int64 (phrases,), has the ordinal of each phrase's tool, ascending.
    """

    records: NDArray[np.float32]
    documents: NDArray[np.float32]
    phrases: NDArray[np.float32]
    owners: NDArray[np.int64]

    def every_fourth(self) -> NDArray[np.bool_]:
        """Return a mask (phrases,) of the phrases to hold out: one in four of each tool's, from the second on."""
        first = np.searchsorted(self.owners, self.owners)
        marks: NDArray[np.bool_] = (np.arange(len(self.owners)) - first) % 4 == 1
        return marks

    def candidates(
        self, own: NDArray[np.int64], rng: np.random.Generator, most: int, siblings: int
    ) -> NDArray[np.int64]:
        """Return the ordinals, sorted, of the tools that a batch is contrasted with, its own tools among them.

        These are all tools of a small catalog; else the `siblings` nearest of each own tool by its record (the hard
        negatives), and random ones up to `most`.
        """
        tools = len(self.records)
        if tools <= most:
            return np.arange(tools)
        near = np.unique(np.concatenate([own, self._nearest[own, :siblings].ravel()]))
        return np.unique(np.concatenate([near, rng.integers(tools, size=max(most - len(near), 0))]))

    def reciprocal_ranks(self, requests: NDArray[np.float32], left_out: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return 1 / rank of each request's own tool, by the mean of document and best phrase, shape (len(left_out),).

        `requests` stand for the phrases `left_out`. No phrase that is held out (`every_fourth`) is in the index.
        """
        phrases, held, first = self._kept
        found = np.empty(len(requests))
        for start in range(0, len(requests), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            asked = np.ascontiguousarray(requests[rows].T)
            documents = self.documents @ asked
            nearest = np.full_like(documents, np.nan)
            for tool in range(0, len(held), _TOOLS_AT_ONCE):
                bounds = first[tool : tool + _TOOLS_AT_ONCE + 1]
                own = phrases[bounds[0] : bounds[-1]] @ asked
                nearest[held[tool : tool + _TOOLS_AT_ONCE]] = np.maximum.reduceat(own, bounds[:-1] - bounds[0], axis=0)
            lift = (nearest[held] - documents[held]).mean(axis=0)
            scores = blend(documents, nearest, DenseView.MEAN, lift)
            own = scores[self.owners[left_out[rows]], np.arange(scores.shape[1])]
            found[rows] = 1 / (1 + (scores > own).sum(axis=0))
        return found

    @cached_property
    def _kept(self) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]:
        """The phrases that are not held out, the tools that have any, and the start of each tool's, then the end."""
        kept = np.flatnonzero(~self.every_fourth())
        held, first = np.unique(self.owners[kept], return_index=True)
        return self.phrases[kept], held, np.append(first, len(kept))

    @cached_property
    def _nearest(self) -> NDArray[np.int64]:
        """The eight nearest tools of each tool by its record, itself left out; shape (tools, 8)."""
        found = np.empty((len(self.records), 8), np.int64)
        for start in range(0, len(self.records), _ROWS_AT_ONCE):
            rows = np.arange(start, min(start + _ROWS_AT_ONCE, len(self.records)))
            scores = self.records[rows] @ self.records.T
            scores[np.arange(len(rows)), rows] = -np.inf
            found[rows] = np.argpartition(-scores, 8, axis=1)[:, :8]
        return found


@dataclass(frozen=True, slots=True)
class AdapterEvidence:
    """The evidence for an adapter, or why there is none (`skipped`, else "").

    `mrr_before` and `mrr_after` are mean reciprocal ranks of the own tool for the `left_out` phrases, by the dense
    signal without and with the adapter; `p` is that of a two-sided paired randomisation test; `steps` are Adam's.
    """

    phrases: int
    left_out: int = 0
    steps: int = 0
    mrr_before: float | None = None
    mrr_after: float | None = None
    p: float | None = None
    skipped: str = ""


# A step's products take microseconds, and two BLAS threads wait for each other longer than they work: on two busy cores
# 1,600 steps take 190 s with two threads, 15 s with one.
@threadpool_limits.wrap(limits=1, user_api="blas")  # type: ignore[untyped-decorator]
def learn_adapter(space: PhraseSpace) -> tuple[NDArray[np.float32] | None, AdapterEvidence]:
    """Return A, float32 (dim, dim), or None with the reason. On one machine equal inputs give equal maps."""
    phrases = len(space.phrases)
    if phrases < FEWEST_PHRASES:
        why = f"the catalog has {counted(phrases, 'phrase') if phrases else 'no phrases'} of a model or a file"
        why += f", and learning takes {FEWEST_PHRASES}"
        return None, AdapterEvidence(phrases, skipped=why)
    held_out = space.every_fourth()
    if not held_out.any() or held_out.all():
        return None, AdapterEvidence(phrases, skipped="no tool has enough phrases to hold some out")
    queries = np.flatnonzero(held_out)
    queries = np.sort(np.random.default_rng(0).choice(queries, min(len(queries), _MOST_LEFT_OUT), replace=False))
    before = space.reciprocal_ranks(space.phrases[queries], queries)
    best, steps = before, 0
    for step, adapter in _train(space, np.flatnonzero(~held_out)):
        after = space.reciprocal_ranks(apply_adapter(space.phrases[queries], adapter), queries)
        if after.mean() > best.mean():
            best, steps = after, step
    p = chance(best - before)
    evidence = AdapterEvidence(
        phrases, len(queries), steps, round(float(before.mean()), 4), round(float(best.mean()), 4), round(p, 4)
    )
    if p > _SIGNIFICANCE:
        return None, replace(evidence, skipped=f"its gain on held-out phrases may be chance (p = {p:.2g})")
    # Train again on all phrases, for the same number of epochs.
    steps = round(steps * phrases / (phrases - int(held_out.sum())))
    *_, (_, learned) = _train(space, np.arange(phrases), steps)
    return learned, evidence


def _train(
    space: PhraseSpace, rows: NDArray[np.int64], steps: int | None = None
) -> Sequence[tuple[int, NDArray[np.float32]]]:
    """Train on the phrases of `rows`; return step and map at each of _CHECKS checks, or only after `steps`."""
    rng = np.random.default_rng(0)
    dim = space.phrases.shape[1]
    adapter, mean, square = (np.zeros((dim, dim), np.float32) for _ in range(3))
    most = steps or min(_MOST_STEPS, _EPOCHS * -(-len(rows) // _BATCH))
    checks = {most} if steps else {round(most * (check + 1) / _CHECKS) for check in range(_CHECKS)}
    checked = []
    order = rng.permutation(rows)
    for step in range(1, most + 1):
        if len(order) < min(_BATCH, len(rows)):
            order = np.concatenate([order, rng.permutation(rows)])
        batch, order = order[:_BATCH], order[_BATCH:]
        gradient = _gradient(space, batch, adapter, rng)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        direction = (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        adapter = (adapter - _RATE * direction).astype(np.float32)
        if step in checks:
            checked.append((step, adapter))
    return checked


def _gradient(
    space: PhraseSpace, batch: NDArray[np.int64], adapter: NDArray[np.float32], rng: np.random.Generator
) -> NDArray[np.float32]:
    """Return the gradient of a batch's mean loss, by the chain rule: softmax, dot product, normalisation, map."""
    tools = space.candidates(space.owners[batch], rng, _CANDIDATES, _SIBLINGS)
    requests = space.phrases[batch]
    moved = requests + requests @ adapter
    length = np.linalg.norm(moved, axis=1, keepdims=True)
    unit = moved / length
    logits = unit @ space.records[tools].T / _TEMPERATURE
    share = np.exp(logits - logits.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    share[np.arange(len(batch)), np.searchsorted(tools, space.owners[batch])] -= 1
    by_unit = share @ space.records[tools] / (_TEMPERATURE * len(batch))
    by_moved = (by_unit - unit * (by_unit * unit).sum(axis=1, keepdims=True)) / length
    gradient: NDArray[np.float32] = requests.T @ by_moved + 2 * _L2 * adapter
    return gradient
