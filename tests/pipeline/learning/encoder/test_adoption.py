"""A tuned encoder is adopted where it finds more, beyond chance, and mistakes no more everyday requests."""

from typing import Any

import numpy as np
import pytest
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


@pytest.mark.parametrize(
    ("before", "after", "adopted", "why"),
    [
        (make_space(0.4), make_space(0.2), True, ""),
        (make_space(0.25), make_space(0.249), False, "chance"),
        (make_space(0.2), make_space(0.4), False, ""),  # it finds fewer, and that is sure
        (make_space(0.4), make_space(0.3, background_noise=0.01), False, "everyday requests"),
    ],
    ids=["finds more", "by chance", "finds fewer", "takes everyday requests for its own"],
)
def test_one_that_finds_more_beyond_chance_and_mistakes_no_more_is_adopted(
    before: Space, after: Space, adopted: bool, why: str
) -> None:
    evidence = compared(EncoderEvidence(1, "key", "base", 240), before, after)
    assert evidence.adopted is adopted and why in evidence.skipped and evidence.judged == 120
    if adopted:
        assert evidence.mrr_before is not None and evidence.mrr_after is not None and evidence.p is not None
        assert evidence.mrr_before < evidence.mrr_after and evidence.p < 0.02
