"""A tuned encoder is adopted where it finds more, beyond chance, and mistakes no more everyday requests."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.encoder.adoption import EncoderEvidence, compared
from pipeline.learning.encoder.measuring import Space, judging
from pipeline.learning.encoder.pairs import TrainingPairs

_TOOLS, _DIM = 60, 32


def unit(vectors: NDArray[Any]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: NDArray[np.float32] = (vectors / lengths).astype(np.float32)
    return result


def make_space(noise: float, background_noise: float = 0.0) -> Space:
    """Requests that lie `noise` from their tools; everyday requests, of which the noise of some is small if asked."""
    random = np.random.default_rng(0)
    tools = unit(random.normal(size=(_TOOLS, _DIM)))
    pairs = TrainingPairs(
        [f"tool {tool}" for tool in range(_TOOLS)],
        [f"request {number} of {tool}" for tool in range(_TOOLS) for number in range(4)],
        np.repeat(np.arange(_TOOLS), 4),
        np.ones(4 * _TOOLS, bool),
        np.zeros(_TOOLS, np.int64),
    )
    own = tools[pairs.owners[judging(pairs)]]
    requests = unit(own + noise * random.normal(size=own.shape))
    everyday = unit(random.normal(size=(80, _DIM)))
    if background_noise:
        everyday[::4] = unit(tools[:20] + background_noise * random.normal(size=(20, _DIM)))
    return Space(pairs, np.empty(0, np.int64), tools, np.empty((0, _DIM), np.float32), requests, everyday)


def decided(before: Space, after: Space) -> EncoderEvidence:
    return compared(EncoderEvidence(1, "key", "base", 240), before, after)


def test_one_that_finds_more_is_adopted() -> None:
    evidence = decided(make_space(0.4), make_space(0.2))
    assert evidence.adopted
    assert evidence.mrr_before is not None and evidence.mrr_after is not None and evidence.p is not None
    assert evidence.mrr_before < evidence.mrr_after and evidence.p < 0.02 and evidence.judged == 120


def test_a_gain_that_may_be_chance_is_not_enough() -> None:
    evidence = decided(make_space(0.25), make_space(0.249))
    assert not evidence.adopted and "chance" in evidence.skipped


def test_one_that_finds_fewer_is_not_adopted_however_sure_that_is() -> None:
    evidence = decided(make_space(0.2), make_space(0.4))
    assert not evidence.adopted and evidence.p is not None and evidence.p < 0.02


def test_one_that_takes_everyday_requests_for_its_own_is_not_adopted() -> None:
    evidence = decided(make_space(0.4), make_space(0.3, background_noise=0.01))
    assert "everyday requests" in evidence.skipped
    assert evidence.mistaken_before is not None and evidence.mistaken_after is not None
    assert evidence.mistaken_before < evidence.mistaken_after
