"""The query adapter: learned where it helps, left alone where it does not."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.learning.adapter import training as learning
from pipeline.learning.adapter.training import PhraseSpace, learn_adapter
from router.encoding.encoder import apply_adapter

TOOLS, DIM, EACH = 30, 16, 8


def unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    shortened: NDArray[np.float64] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return shortened.astype(np.float32)


def widened(rows: NDArray[np.float32]) -> NDArray[Any]:
    """Rows of double precision, in which a gradient can be told from a difference."""
    return rows.astype(np.float64)


def turned(angle: float) -> NDArray[np.float64]:
    """A turn of the first axis towards the second, of the third towards the fourth, and so on."""
    turn = np.eye(DIM)
    for axis in range(0, DIM, 2):
        turn[axis : axis + 2, axis : axis + 2] = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    return turn


def space_of(turn: NDArray[np.float64], noise: float = 0.1) -> PhraseSpace:
    """Phrases that lie where a turn takes their tool's record, and documents that say what records say."""
    rng = np.random.default_rng(7)
    records = unit(rng.normal(size=(TOOLS, DIM)))
    owners = np.repeat(np.arange(TOOLS), EACH)
    phrases = unit(records[owners] @ turn + noise * rng.normal(size=(len(owners), DIM)))
    return PhraseSpace(records, records, phrases, owners)


def test_an_adapter_undoes_what_sets_phrases_apart_from_their_tools() -> None:
    space = space_of(turned(1.2), noise=0.3)
    learned, evidence = learn_adapter(space)
    again, _ = learn_adapter(space_of(turned(1.2), noise=0.3))
    assert learned is not None and again is not None and learned.tobytes() == again.tobytes()
    assert learned.shape == (DIM, DIM) and learned.dtype == np.float32
    assert evidence.mrr_before is not None and evidence.mrr_after is not None
    assert evidence.mrr_after > evidence.mrr_before and (evidence.p or 0) < 0.05
    fresh = unit(space.records @ turned(1.2))
    own = np.arange(TOOLS)
    found = (apply_adapter(fresh, learned) @ space.records.T).argmax(axis=1) == own
    assert found.mean() > ((fresh @ space.records.T).argmax(axis=1) == own).mean()


def test_no_adapter_is_learned_that_would_not_help_and_the_reason_is_told() -> None:
    random = unit(np.random.default_rng(3).normal(size=(TOOLS * EACH, DIM)))
    space, near = space_of(turned(1.2)), space_of(np.eye(DIM), noise=0.01)
    records = unit(np.random.default_rng(1).normal(size=(120, DIM)))
    cases = {
        "its gain on held-out phrases may be chance (p = 1)": near,  # they find their tools already
        "its gain on held-out phrases": PhraseSpace(near.records, near.documents, random, near.owners),
        "the catalog has 99 phrases of a model or a file, and learning takes 100": PhraseSpace(
            space.records, space.documents, space.phrases[:99], space.owners[:99]
        ),
        "no tool has enough phrases to hold some out": PhraseSpace(records, records, records, np.arange(120)),
    }
    for reason, phrases in cases.items():
        learned, evidence = learn_adapter(phrases)
        assert learned is None and evidence.skipped.startswith(reason)


def test_the_gradient_is_that_of_the_loss() -> None:
    space = space_of(turned(0.5))
    wide = PhraseSpace(widened(space.records), widened(space.documents), widened(space.phrases), space.owners)
    batch = np.array([0, 9, 17, 30])
    at: NDArray[Any] = np.random.default_rng(5).normal(size=(DIM, DIM)) * 0.05

    def loss(adapter: NDArray[np.float64]) -> float:
        moved = wide.phrases[batch] + wide.phrases[batch] @ adapter
        logits = moved / np.linalg.norm(moved, axis=1, keepdims=True) @ wide.records.T / learning._TEMPERATURE
        own = logits[np.arange(len(batch)), wide.owners[batch]]
        infonce = np.mean(np.log(np.exp(logits).sum(axis=1)) - own)
        return float(infonce + learning._L2 * (adapter**2).sum())

    gradient = learning._gradient(wide, batch, at, np.random.default_rng(0))
    for row, column in ((0, 0), (3, 11), (15, 2)):
        step = np.zeros((DIM, DIM))
        step[row, column] = 1e-6
        by_hand = (loss(at + step) - loss(at - step)) / 2e-6
        assert gradient[row, column] == pytest.approx(by_hand, rel=1e-4, abs=1e-7)


def test_one_phrase_in_four_of_each_tool_is_left_out() -> None:
    owners = np.array([0, 0, 0, 0, 0, 0, 1, 2, 2])
    records, documents, phrases = (np.zeros((9, 2), np.float32) for _ in range(3))
    space = PhraseSpace(records, documents, phrases, owners)
    assert np.flatnonzero(space.every_fourth()).tolist() == [1, 5, 8]


def test_a_batch_is_told_from_all_tools_of_a_small_catalog_and_from_siblings_of_a_large_one() -> None:
    space = space_of(np.eye(DIM))
    own, rng = np.array([4, 4, 9]), np.random.default_rng(0)
    assert space.candidates(own, rng, 30, 2).tolist() == list(range(30))
    some = space.candidates(own, rng, 12, 2)
    near = np.argsort(-(space.records @ space.records[4]))[1:3]
    assert {4, 9, *near.tolist()} <= set(some.tolist())
    assert len(some) <= 12 and some.tolist() == sorted(set(some.tolist()))


def test_a_left_out_phrase_is_ranked_by_its_tools_document_and_its_other_phrases() -> None:
    # Two tools, two axes; the second phrase of each is left out. Tool 0's document lies on the wrong axis.
    documents = np.array([[0, 1], [0, 1]], np.float32)
    phrases = np.array([[1, 0], [0.6, 0.8], [0, 1], [0.6, 0.8]], np.float32)
    space = PhraseSpace(documents, documents, phrases, np.array([0, 0, 1, 1]))
    # (.8 + .6) / 2 for tool 0, (.8 + .8) / 2 for tool 1.
    assert space.reciprocal_ranks(phrases[[1, 3]], np.array([1, 3])).tolist() == [1 / 2, 1]
