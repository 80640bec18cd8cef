"""The query adapter: a linear map that moves requests towards the tools of one catalog, learned from its phrases.

A phrase looks like a request, and its tool is known: so z = normalize(q + qA) is trained to bring each phrase near the
record of its own tool and away from the other tools' records, by InfoNCE (van den Oord, Li and Vinyals, 2018) with the
weights of A held small (L2), and Adam (Kingma and Ba, ICLR 2015). No labels and no request are needed.

A quarter of each tool's phrases is left out to tell when to stop: by how well the whole dense signal finds their tools,
for that is what will rank. Where it finds them no better beyond chance, there is no adapter.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pipeline.learning.adapter.phrase_space import PhraseSpace
from router.encoding.encoder import apply_adapter
from router.evaluation.resampling import chance

# Mean full@10 / nDCG@10 of Azure's MCP tools, UltraTool, MetaTool, ToolPicker and catalogs/demo, fused by the default
# recipe: .947 / .845 without an adapter. .953 / .852 after 5, 10 or 20 epochs, at a temperature of .05 or .1, with 64
# or all tools to tell apart, at a learning rate of .001 or .003; .952 / .851 with an L2 of .03, .950 / .848 with .1.
_TEMPERATURE = 0.05
_L2 = 0.01
_RATE = 1e-3
_BATCH = 64
_EPOCHS = 12
# So a catalog of any size takes some ten seconds at most: 12 epochs of 3,000 phrases are 560 steps.
_MOST_STEPS = 1_600
_CANDIDATES = 512
_SIBLINGS = 4
_CHECKS = 12
_MOST_LEFT_OUT = 1_000
FEWEST_PHRASES = 100
# Below the usual .05: the phrases that tell when to stop are those that tell whether it helps.
_SIGNIFICANCE = 0.02


@dataclass(frozen=True, slots=True)
class AdapterEvidence:
    """How an adapter came about, or why there is none (`skipped`, else "").

    `mrr_before` and `mrr_after` are mean reciprocal ranks of the own tool for the `left_out` phrases, by the dense
    signal without and with the adapter; `p` is the two-sided p of a paired randomisation test. `steps` of Adam.
    """

    phrases: int
    left_out: int = 0
    steps: int = 0
    mrr_before: float | None = None
    mrr_after: float | None = None
    p: float | None = None
    skipped: str = ""

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict, for the manifest."""
        return asdict(self)


def learn_adapter(space: PhraseSpace, *, seed: int = 0) -> tuple[NDArray[np.float32] | None, AdapterEvidence]:
    """Learn A, float32 of shape (dim, dim), or None with the reason. Equal inputs give equal maps on one machine."""
    # A step's products take microseconds: two threads of BLAS wait for each other longer than they work. On two busy
    # cores 1,600 steps take 190 s with two, 15 s with one.
    with threadpool_limits(1, "blas"):
        return _learn(space, seed)


def _too_few(phrases: int) -> str:
    found = f"{phrases} phrases of a model or a file" if phrases else "no phrases of a model or a file"
    return f"the catalog has {found}, and learning takes {FEWEST_PHRASES}"


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
        found = space.reciprocal_ranks(apply_adapter(space.phrases[judged], adapter), judged)
        if found.mean() > best.mean():
            best, steps = found, step
    p = chance(best - before)
    evidence = AdapterEvidence(
        phrases, len(judged), steps, round(float(before.mean()), 4), round(float(best.mean()), 4), round(p, 4)
    )
    if p > _SIGNIFICANCE:
        why = f"its gain on held-out phrases may be chance (p = {p:.2g})"
        return None, AdapterEvidence(**{**asdict(evidence), "skipped": why})
    # Once more on all phrases, for as long in epochs.
    steps = round(steps * phrases / (phrases - int(held_out.sum())))
    *_, (_, learned) = _train(space, np.arange(phrases), np.random.default_rng(seed), steps)
    return learned, evidence


def _train(
    space: PhraseSpace, rows: NDArray[np.int64], rng: np.random.Generator, steps: int | None = None
) -> Sequence[tuple[int, NDArray[np.float32]]]:
    """Train on the phrases of `rows`; the step and the map at each of `_CHECKS` checks, or after `steps` alone."""
    dim = space.phrases.shape[1]
    adapter, mean, square = (np.zeros((dim, dim), np.float32) for _ in range(3))
    most = steps or min(_MOST_STEPS, _EPOCHS * -(-len(rows) // _BATCH))
    checks = {most} if steps else {round(most * (check + 1) / _CHECKS) for check in range(_CHECKS)}
    found = []
    order = rng.permutation(rows)
    for step in range(1, most + 1):
        if len(order) < min(_BATCH, len(rows)):
            order = np.concatenate([order, rng.permutation(rows)])
        batch, order = order[:_BATCH], order[_BATCH:]
        gradient = _gradient(space, batch, adapter, rng)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        towards = (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        adapter = (adapter - _RATE * towards).astype(np.float32)
        if step in checks:
            found.append((step, adapter))
    return found


def _gradient(
    space: PhraseSpace, batch: NDArray[np.int64], adapter: NDArray[np.float32], rng: np.random.Generator
) -> NDArray[np.float32]:
    """The gradient of the mean loss of a batch, by the chain rule: softmax, dot product, normalisation, map."""
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
