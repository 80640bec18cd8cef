"""Past requests: how they are read, and what they teach."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.errors import RunAborted, SettingsInvalid
from pipeline.learning.usage import click_feedback, log
from pipeline.learning.usage.click_feedback import held_out_rankings, learn_intents, similarity_threshold, tool_weights
from pipeline.learning.usage.log import UsageLog, read_usage
from pipeline.settings import load
from router import RECIPES, Signal
from router.retrieval.retrievers import Ranking

KNOWN = {"a": "a", "b": "b", "c": "c", "former": "c"}
Lines = Callable[[str, list[Any]], Path]


def read(write_lines: Lines, *rows: Any) -> UsageLog:
    return read_usage(write_lines("usage.jsonl", list(rows)), KNOWN)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            [
                {"request": " first ", "tools": ["a"]},
                {"id": "q1", "query": "second", "required": ["b", "former"], "acceptable": ["a"], "kind": "multi"},
            ],
            {"first": {"a": 1}, "second": {"b": 1, "c": 1}},
        ),
        (  # one that was made often counts once, where it was made last
            [
                {"request": request, "tools": [tool]}
                for request, tool in (("Refund  it", "a"), ("x", "c"), ("refund it", "a"), ("REFUND it", "b"))
            ],
            {"x": {"c": 1}, "REFUND it": {"a": pytest.approx(2 / 3), "b": pytest.approx(1 / 3)}},
        ),
    ],
    ids=["calls and qrels", "repeated"],
)
def test_requests_are_read_with_the_shares_of_their_tools(
    write_lines: Lines, rows: list[Any], expected: dict[str, dict[str, float]]
) -> None:
    found = {use.request: dict(use.shares) for use in read(write_lines, *rows).requests}
    assert found == expected and list(found) == list(expected)


def test_a_row_that_cannot_be_used_is_skipped_with_its_line_and_reason(write_lines: Lines) -> None:
    found = read(
        write_lines,
        {"request": "fine", "tools": ["a"]},
        "{not json",
        ["fine"],
        {"request": "  ", "tools": ["a"]},
        {"request": "no tools"},
        {"request": "numbers", "tools": [1]},
        {"request": "gone", "tools": ["a", "old/tool"]},
    )
    assert [use.request for use in found.requests] == ["fine"]
    assert [error.origin.pointer for error in found.rejected] == [f"line {n}" for n in range(2, 8)]
    assert found.rejected[-1].reason == "the catalog has no tool 'old/tool'"
    assert found.rows == 7


def test_a_request_that_led_to_no_tool_is_no_mistake_and_half_a_surrogate_pair_is_replaced(write_lines: Lines) -> None:
    found = read(write_lines, {"query": "thanks", "required": []}, '{"request": "odd \\ud800", "tools": ["a"]}')
    assert ([use.request for use in found.requests], found.rejected, found.toolless) == (["odd \ufffd"], (), 1)


def test_of_a_long_log_the_newest_requests_are_kept(write_lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "MAX_USES", 2)
    found = read(write_lines, *({"request": r, "tools": ["a"]} for r in "one two three one".split()))
    assert [use.request for use in found.requests] == ["three", "one"] and found.older == 1


def test_without_a_log_there_is_nothing_to_learn_from(catalog_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(RunAborted, match=r"usage\.jsonl"):
        read_usage(tmp_path / "usage.jsonl", KNOWN)
    with pytest.raises(SettingsInvalid, match="fit_weights needs past requests"):
        load(catalog_folder, {"tuning": {"fit_weights": True}}, environment={})


FUSED = Ranking(np.array([5, 3, 8]), np.array([3.0, 2.0, 1.0]))


@pytest.mark.parametrize(
    ("shares", "taught"),
    [
        ({5: 1.0}, [0.0]),  # first already
        ({3: 1.0}, [1 / 2]),
        ({8: 0.5}, [0.5 * 2 / 3]),
        ({9: 1.0}, [1.0]),  # in no list
        ({5: 1.0, 8: 1.0}, [0.0, 1 / 2]),  # 5 is no rival of 8
    ],
)
def test_a_lesson_is_what_the_other_lists_do_not_say(shares: dict[int, float], taught: list[float]) -> None:
    assert tool_weights(FUSED, shares) == pytest.approx(taught)


def test_the_background_is_two_deviations_above_what_requests_for_different_tools_share() -> None:
    vectors = np.array([[1, 0], [0.6, 0.8], [0, 1]], np.float32)
    tools = [frozenset({0}), frozenset({1}), frozenset({0, 2})]
    # The first and the third led to tool 0 both: left are cosines of .6 and .8, twice each.
    assert similarity_threshold(tools, vectors) == pytest.approx(0.7 + 2 * 0.1)
    assert similarity_threshold([frozenset({0})] * 3, vectors) is None
    same = np.ones((2, 1), np.float32)  # background cosines never reach one
    assert similarity_threshold([frozenset({0}), frozenset({1})], same) == click_feedback._HIGHEST


def test_a_use_that_is_left_out_learns_nothing_from_itself() -> None:
    count = 40
    vectors = np.eye(count, dtype=np.float32)
    dense = Ranking.of(np.array([50]), np.array([1.0]))
    asked = [{Signal.DENSE: dense}] * count
    taught = learn_intents(asked, [{n: 1.0} for n in range(count)], vectors, RECIPES["default"], None)
    assert taught is not None and taught.weights.tolist() == [1.0] * count
    assert taught.retriever(np.ones(count, np.bool_)).rank_vector(vectors[7], 10).ordinals.tolist() == [7]
    assert all(len(lists[Signal.INTENT]) == 0 for lists in held_out_rankings(taught, asked, range(count), 10))
