"""Metrics, worked by hand."""

import json
from collections.abc import Callable
from math import log2
from pathlib import Path

import pytest

from router import Router, SettingsInvalid
from router.benchmark import measure
from router.evaluation import Judgement, evaluate, judgements_of, read_judgements


def judged(required: str, acceptable: str = "", kind: str = "single", groups: tuple[str, ...] = ()) -> Judgement:
    return Judgement(
        "q", "request", frozenset(required), frozenset(acceptable or required), kind, tuple(map(frozenset, groups))
    )


def test_one_request_by_hand() -> None:
    found = evaluate([(list("xbya"), judged("ab", kind="multi"))])
    ideal = 1 + 1 / log2(3)
    assert found == {
        "recall@10": 1,
        "hit@1": 0,
        "mrr@10": 1 / 2,
        "full@10": 1,
        "multi@10": 1,
        "ndcg@10": pytest.approx((1 / log2(3) + 1 / log2(5)) / ideal),
    }


def test_full_recall_counts_required_tools_and_recall_acceptable_ones() -> None:
    found = evaluate([(list("c"), judged("ab", acceptable="abc", kind="multi"))])
    assert (found["recall@10"], found["full@10"]) == (1, 0)


def test_groups_replace_required_tools() -> None:
    found = evaluate([(list("bx"), judged("ac", acceptable="abcd", kind="multi", groups=("ab", "cd")))])
    assert found["full@10"] == 1 / 2


def test_nothing_past_the_tenth_counts() -> None:
    found = evaluate([(list("0123456789a"), judged("a"))])
    assert set(found.values()) == {0, None}


def test_requests_that_no_tool_answers_count_for_no_metric() -> None:
    found = evaluate([([], judged("", kind="none")), (list("a"), judged("a"))])
    assert found["recall@10"] == 1


def test_a_metric_without_requests_is_none() -> None:
    assert evaluate([(list("a"), judged("a"))])["multi@10"] is None
    assert set(evaluate([]).values()) == {None}


def test_a_bad_judgement_is_named_with_its_line(write_lines: Callable[[str, list[object]], Path]) -> None:
    good = {"id": "1", "query": "x", "required": [], "acceptable": [], "kind": "none"}
    path = write_lines("queries.jsonl", [good, {**good, "kind": "some"}])
    with pytest.raises(SettingsInvalid, match=r"line 2.*some"):
        read_judgements(path)


@pytest.mark.parametrize("wrong", [{"required": "stripe/x"}, {"query": None}, {"acceptable": [7]}])
def test_a_judgement_of_the_wrong_type_is_refused(
    write_lines: Callable[[str, list[object]], Path], wrong: dict
) -> None:
    row = {"id": "1", "query": "a\u2028b", "required": [], "acceptable": [], "kind": "none"}
    assert read_judgements(write_lines("queries.jsonl", [row]))[0].request == "a\u2028b"
    with pytest.raises(SettingsInvalid, match="line 1"):
        read_judgements(write_lines("queries.jsonl", [row | wrong]))


def test_the_measurement_has_the_fixed_shape(router: Router) -> None:
    judgements = [
        Judgement(
            "1",
            "pull failed payments",
            frozenset({"stripe/list_charges"}),
            frozenset({"stripe/list_charges"}),
            "single",
        ),
        Judgement("2", "sing me a song", frozenset(), frozenset(), "none"),
    ]
    result = measure(router, judgements, bench="office", recipe="lexical")
    assert json.loads(json.dumps(result)) == result
    keys = ["bench", "tools", "queries", "snapshot", "recipe", "latency_ms", "signals", "slices", "no_tool"]
    assert list(result) == keys and result["slices"] == {}
    assert list(result["signals"]) == ["name", "description", "expansion", "dense", "fused"]
    assert result["signals"]["dense"]["recall@10"] is None  # the lexical recipe has no dense list
    assert result["signals"]["expansion"]["recall@10"] == 1
    assert (result["tools"], result["queries"]) == (8, 2)


def test_the_fused_list_is_measured_by_slice(router: Router) -> None:
    def in_slice(request: str, tool_id: str, slice: str) -> Judgement:
        return Judgement(request, request, frozenset({tool_id}), frozenset({tool_id}), "single", slice=slice)

    judgements = [
        in_slice("undo a payment", "stripe/create_refund", "everyday"),
        in_slice("undo a payment", "weather/getForecast", "hard"),
        in_slice("refund", "stripe/create_refund", "everyday"),
        in_slice("undo a payment", "stripe/create_refund", ""),
    ]
    slices = measure(router, judgements, bench="office", recipe="lexical")["slices"]
    assert list(slices) == ["everyday", "hard"]
    assert (slices["everyday"]["queries"], slices["everyday"]["hit@1"]) == (2, 1.0)
    assert (slices["hard"]["queries"], slices["hard"]["hit@1"]) == (1, 0.0)


def test_a_benchmarks_requests_win_over_a_catalogs_judgements(tmp_path: Path) -> None:
    assert judgements_of(tmp_path) is None
    for name in ("judgements.jsonl", "queries.jsonl"):
        (tmp_path / name).write_text("", encoding="utf-8")
        assert judgements_of(tmp_path) == tmp_path / name
