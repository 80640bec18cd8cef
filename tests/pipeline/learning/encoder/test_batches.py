"""Batches hold siblings, and no tool that a request of the batch needs as well as its own."""

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.encoder.batches import BatchSize, epoch_batches, nearest_tools
from pipeline.learning.encoder.loss import rounds
from pipeline.learning.encoder.pairs import TrainingPairs, joined


def make_pairs(tools: int = 40, each: int = 4, *, shared: bool = False) -> TrainingPairs:
    """Pairs of tools with some requests each; where `shared`, tools 2i and 2i + 1 have one request in common."""
    requests = [f"request {number} of tool {tool}" for tool in range(tools) for number in range(each)]
    owners = [tool for tool in range(tools) for _ in range(each)]
    if shared:
        requests += [f"both of {tool // 2}" for tool in range(tools)]
        owners += list(range(tools))
    held_out = np.array(["request 1 of" in request for request in requests])
    texts = [f"tool {tool}" for tool in range(tools)]
    return TrainingPairs(texts, requests, np.array(owners), held_out, np.zeros(tools, np.int64))


def on_a_circle(tools: int) -> NDArray[np.float32]:
    """Vectors of which each has its neighbours nearest."""
    angles = np.arange(tools) * 2 * np.pi / tools
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def batches_of(pairs: TrainingPairs, seed: int = 0) -> list[NDArray[np.int64]]:
    nearest = nearest_tools(on_a_circle(len(pairs.tools)), pairs.group, 2)
    return list(epoch_batches(pairs, nearest, BatchSize(tools=10, requests=2, siblings=2), np.random.default_rng(seed)))


def test_an_epoch_reads_each_pair_at_most_once_and_no_held_out_one() -> None:
    pairs = make_pairs()
    read = np.concatenate(batches_of(pairs))
    assert len(read) == len(set(read.tolist())) > 100
    assert not pairs.held_out[read].any()


def test_a_batch_holds_siblings_beside_each_other() -> None:
    pairs = make_pairs()
    tools = np.unique(pairs.owners[batches_of(pairs)[0]])
    assert len(tools) == 10
    assert (np.diff(tools) == 2).sum() >= 5  # direct neighbours on the circle are too near to be negatives


def test_a_tool_that_a_request_needs_too_is_no_negative_of_it() -> None:
    pairs = make_pairs(shared=True)
    seen = 0
    for batch in batches_of(pairs):
        tools = set(pairs.owners[batch].tolist())
        for pair in batch.tolist():
            needed = pairs.needed[pairs.requests[pair]]
            assert needed & tools == {int(pairs.owners[pair])}
            seen += len(needed) > 1
    assert seen > 10


def test_equal_seeds_give_equal_batches_and_others_do_not() -> None:
    pairs = make_pairs()
    first, again, other = (np.concatenate(batches_of(pairs, seed)).tolist() for seed in (0, 0, 1))
    assert first == again != other


def test_duplicates_and_tools_of_other_catalogs_are_no_siblings() -> None:
    vectors = np.array([[1, 0], [1, 0], [0.9, 0.436], [0.9, -0.436]], np.float32)
    nearest = nearest_tools(vectors, np.array([0, 0, 0, 1]), 2)
    assert nearest.tolist() == [[2, -1], [2, -1], [0, 1], [-1, -1]]


def test_rounds_have_each_tool_once() -> None:
    assert [rows.tolist() for rows in rounds(np.array([1, 0, 1, 2, 1]))] == [[0, 1, 3], [2], [4]]


def test_joined_pairs_keep_their_tools_and_catalogs() -> None:
    pairs = joined([make_pairs(3, 2), make_pairs(2, 2)])
    assert pairs.group.tolist() == [0, 0, 0, 1, 1]
    assert pairs.owners.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
