"""What a measurement says as JSON."""

import json

import numpy as np
import pytest

from router import Router
from router.evaluation import METRICS, JudgedResult, Judgement, Measurement, RankedList, ask, figures, measure

KEYS = ["bench", "tools", "queries", "snapshot", "recipe", "latency_ms", "signals", "slices", "no_tool"]


def one(request: str, tool_id: str, slice: str = "") -> Judgement:
    """A request that one tool answers."""
    return Judgement(request, request, frozenset({tool_id}), frozenset({tool_id}), "single", slice=slice)


NONE = Judgement("none", "sing me a song", frozenset(), frozenset(), "none")


def test_the_measurement_has_the_fixed_keys_first(router: Router) -> None:
    result = measure(
        router, [one("pull failed payments", "stripe/list_charges"), NONE], bench="office", recipe="lexical"
    )
    assert json.loads(json.dumps(result)) == result
    assert list(result)[: len(KEYS)] == KEYS and result["slices"] == {}
    assert list(result["signals"]) == ["name", "description", "expansion", "dense", "fused"]
    assert result["signals"]["dense"]["recall@10"] is None  # the lexical recipe has no dense list
    assert result["signals"]["expansion"]["recall@10"] == 1
    assert (result["tools"], result["queries"], result["no_tool"], result["reliability"]) == (8, 2, None, None)


def test_the_fused_list_is_measured_by_slice(router: Router) -> None:
    judgements = [
        one("undo a payment", "stripe/create_refund", slice="everyday"),
        one("undo a payment ", "weather/getForecast", slice="hard"),
        one("refund", "stripe/create_refund", slice="everyday"),
        one("undo the payment in Stripe", "stripe/create_refund"),
    ]
    result = measure(router, judgements, bench="office", recipe="lexical")
    slices = result["slices"]
    assert list(slices) == ["everyday", "hard"]
    assert (slices["everyday"]["queries"], slices["everyday"]["hit@1"]) == (2, 1.0)
    assert (slices["hard"]["queries"], slices["hard"]["hit@1"]) == (1, 0.0)
    assert slices["everyday"]["intervals"]["hit@1"] == [1, 1] and slices["hard"]["intervals"]["hit@1"] is None
    assert {sort: {n: s["queries"] for n, s in of.items()} for sort, of in result["by"].items()} == {
        "kind": {"single": 4},
        "provider": {"named": 1, "not named": 3},
        "length": {"1-4 words": 3, "5-15 words": 1},
    }


def test_the_curve_at_ten_is_the_metric_and_every_request_has_a_rank(router: Router) -> None:
    judgements = [one("undo a payment", "stripe/create_refund"), one("undo", "weather/getForecast"), NONE]
    result = measure(router, judgements, bench="office", recipe="lexical")
    for name in ("name", "expansion", "fused"):
        assert result["recall_by_k"][name]["recall"][9] == result["signals"][name]["recall@10"]
        assert result["recall_by_k"][name]["full"][9] == result["signals"][name]["full@10"]
        assert sum(result["ranks"][name].values()) == 2
    assert result["ranks"]["fused"]["1"] == 1 and result["ranks"]["dense"] is None


def test_the_list_that_is_measured_is_the_answer_itself(router: Router) -> None:
    judgement = one("open a ticket for the broken printer", "linear/create_issue")
    measured = ask(router, [judgement])
    answer = measured.results[0]
    assert answer.lists["fused"].ids == router.route(judgement.request, k=100).ids
    assert ask(router, [judgement], whole=False).results[0].lists["fused"].ids == router.route(judgement.request).ids
    assert measured.scores().shape == (1, len(METRICS)) and measured.scores("nothing").shape == (0, len(METRICS))


def test_judged_tools_that_the_snapshot_lacks_are_told(router: Router) -> None:
    judgements = [one("undo a payment", "stripe/create_refund"), one("sing", "choir/sing")]
    assert measure(router, judgements, bench="office")["unknown"] == ["choir/sing"]


@pytest.fixture
def sure(router: Router) -> Measurement:
    """Two requests that a tool answers and two that none does, with the probabilities that some tool fits."""
    rows = [("single", 0.9, False), ("single", 0.3, True), ("none", 0.4, True), ("none", 0.2, False)]
    hits = {"fused": RankedList(("stripe/create_refund",), (1.0,))}
    tools = frozenset({"stripe/create_refund"})
    answers = [
        JudgedResult(Judgement(str(i), "undo", held, held, kind), hits, fits, refused, 1.0)
        for i, (kind, fits, refused) in enumerate(rows)
        for held in (frozenset[str]() if kind == "none" else tools,)
    ]
    return Measurement(router, router.recipe(), tuple(answers))


def test_requests_without_a_tool_are_scored_by_the_probability_that_one_fits(sure: Measurement) -> None:
    found = figures(sure, "office")
    no_tool = found["no_tool"]
    assert (no_tool["auc"], no_tool["refused_at_95"]) == (3 / 4, 1 / 2)
    assert (no_tool["refused"], no_tool["refused_wrongly"]) == (1 / 2, 1 / 2)
    assert sum(b["requests"] for b in found["reliability"]["bins"]) == 4
    assert found["by"]["kind"]["none"]["refused"] == 1 / 2
    assert json.loads(json.dumps(found)) == found


def test_a_snapshot_that_gives_no_probability_has_no_score_of_it(sure: Measurement) -> None:
    unsure = tuple(JudgedResult(a.judgement, a.lists, None, False, a.milliseconds) for a in sure.results)
    found = figures(Measurement(sure.router, sure.recipe, unsure), "office")
    assert found["no_tool"] is None and found["by"]["kind"]["none"]["refused"] is None


def test_latency_leaves_the_first_ten_out(sure: Measurement) -> None:
    slow, quick = (
        JudgedResult(a.judgement, a.lists, None, False, ms) for a, ms in zip(sure.results[:2], (1e4, 2.0), strict=True)
    )
    measured = Measurement(sure.router, sure.recipe, (slow,) * 10 + (quick,) * 5)
    assert measured.latency() == {"p50": 2.0, "p95": 2.0}
    assert Measurement(sure.router, sure.recipe, (slow,)).latency()["p50"] == 1e4
    assert np.isnan(measured.scores("dense")).size == 0
