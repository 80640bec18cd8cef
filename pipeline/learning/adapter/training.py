"""Train the query adapter: a linear map that moves requests towards the tools of one catalog.

A phrase looks like a request, and its tool is known. So z = normalize(q + qA) is trained to bring each phrase near the
record of its own tool and away from the other tools' records: by InfoNCE (van den Oord, Li and Vinyals, 2018) with L2
on A, and Adam (Kingma and Ba, ICLR 2015). No labels and no requests are needed.

A quarter of each tool's phrases is held out to tell when to stop, by how well the whole dense signal finds their tools.
Where the adapter does not improve this beyond chance, there is none.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pipeline.learning.adapter.phrase_space import PhraseSpace
from quartermaster.evaluation.resampling import chance
from router.encoding.encoder import apply_adapter

# See docs/decisions/encoder.md.
_TEMPERATURE = 0.05
_L2 = 0.01
_RATE = 1e-3
_BATCH = 64
_EPOCHS = 12
# Limits training to some ten seconds for any catalog: 12 epochs of 3,000 phrases are 560 steps.
_MOST_STEPS = 1_600
_CANDIDATES = 512
_SIBLINGS = 4
_CHECKS = 12
_MOST_LEFT_OUT = 1_000
FEWEST_PHRASES = 100
# Below the usual .05, because the same phrases tell when to stop and whether it helps.
_SIGNIFICANCE = 0.02


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

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, for the manifest."""
        return asdict(self)


def learn_adapter(space: PhraseSpace, *, seed: int = 0) -> tuple[NDArray[np.float32] | None, AdapterEvidence]:
    """Return A, float32 (dim, dim), or None with the reason. On one machine equal inputs give equal maps."""
    # A step's products take microseconds, and two BLAS threads wait for each other longer than they work: on two busy
    # cores 1,600 steps take 190 s with two threads, 15 s with one.
    with threadpool_limits(1, "blas"):
        return _learn(space, seed)


def _too_few(phrases: int) -> str:
    count = f"{phrases} phrases of a model or a file" if phrases else "no phrases of a model or a file"
    return f"the catalog has {count}, and learning takes {FEWEST_PHRASES}"


def _learn(space: PhraseSpace, seed: int) -> tuple[NDArray[np.float32] | None, AdapterEvidence]:
    phrases = len(space.phrases)
    if phrases < FEWEST_PHRASES:
        return None, AdapterEvidence(phrases, skipped=_too_few(phrases))
    held_out = space.every_fourth()
    if not held_out.any() or held_out.all():
        return None, AdapterEvidence(phrases, skipped="no tool has enough phrases to hold some out")
    rng = np.random.default_rng(seed)
    judged = np.flatnonzero(held_out)
    judged = np.sort(rng.choice(judged, min(len(judged), _MOST_LEFT_OUT), replace=False))
    before = space.reciprocal_ranks(space.phrases[judged], judged)
    best, steps = before, 0
    for step, adapter in _train(space, np.flatnonzero(~held_out), np.random.default_rng(seed)):
        after = space.reciprocal_ranks(apply_adapter(space.phrases[judged], adapter), judged)
        if after.mean() > best.mean():
            best, steps = after, step
    p = chance(best - before)
    evidence = AdapterEvidence(
        phrases, len(judged), steps, round(float(before.mean()), 4), round(float(best.mean()), 4), round(p, 4)
    )
    if p > _SIGNIFICANCE:
        why = f"its gain on held-out phrases may be chance (p = {p:.2g})"
        return None, AdapterEvidence(**{**asdict(evidence), "skipped": why})
    # Train again on all phrases, for the same number of epochs.
    steps = round(steps * phrases / (phrases - int(held_out.sum())))
    *_, (_, learned) = _train(space, np.arange(phrases), np.random.default_rng(seed), steps)
    return learned, evidence


def _train(
    space: PhraseSpace, rows: NDArray[np.int64], rng: np.random.Generator, steps: int | None = None
) -> Sequence[tuple[int, NDArray[np.float32]]]:
    """Train on the phrases of `rows`; return step and map at each of _CHECKS checks, or only after `steps`."""
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
