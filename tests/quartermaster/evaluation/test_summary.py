"""What a measurement says as JSON."""

import json
from dataclasses import replace

import pytest

from quartermaster.evaluation import METRICS, JudgedResult, Measurement, RankedList, ask, figures, measure
from router import Router
from tests.quartermaster.evaluation.judging import taking
from tests.support.factories import make_record

KEYS = ["bench", "tools", "queries", "snapshot", "recipe", "latency_ms", "signals", "slices", "no_tool"]
REFUND = "stripe/create_refund"


def test_a_measurement_has_its_figures_by_signal_and_by_slice(router: Router) -> None:
    judgements = [
        taking("1", "undo a payment", REFUND, slice="everyday"),
        taking("2", "undo a payment", "weather/getForecast", slice="hard"),
        taking("3", "refund", REFUND, slice="everyday"),
        taking("4", "undo the payment in Stripe", REFUND),
        taking("5", "sing me a song"),
    ]
    result = measure(router, judgements, bench="office", recipe="lexical")
    assert json.loads(json.dumps(result)) == result and list(result)[: len(KEYS)] == KEYS
    assert list(result["signals"]) == ["name", "description", "expansion", "dense", "fused"]
    assert result["signals"]["dense"]["recall@10"] is None  # the lexical recipe has no dense list
    assert (result["tools"], result["queries"], result["no_tool"], result["reliability"]) == (8, 5, None, None)
    slices = result["slices"]
    assert list(slices) == ["everyday", "hard"]
    assert (slices["everyday"]["queries"], slices["everyday"]["hit@1"]) == (2, 1.0)
    assert (slices["hard"]["queries"], slices["hard"]["hit@1"]) == (1, 0.0)
    assert slices["everyday"]["intervals"]["hit@1"] == [1, 1] and slices["hard"]["intervals"]["hit@1"] is None
    assert {sort: {n: s["queries"] for n, s in of.items()} for sort, of in result["by"].items()} == {
        "kind": {"single": 4, "none": 1},
        "provider": {"named": 1, "not named": 3},
        "length": {"1-4 words": 4, "5-15 words": 1},
    }
    for name in ("name", "expansion", "fused"):  # the curve at ten is the metric, and every request has a rank
        assert result["recall_by_k"][name]["recall"][9] == result["signals"][name]["recall@10"]
        assert result["recall_by_k"][name]["full"][9] == result["signals"][name]["full@10"]
        assert sum(result["ranks"][name].values()) == 4
    assert result["ranks"]["fused"]["1"] == 3 and result["ranks"]["dense"] is None


def test_the_list_that_is_measured_is_the_answer_itself_with_duplicates_one_by_one(router: Router) -> None:
    judgement = taking("1", "open a ticket for the broken printer", "linear/create_issue")
    measured = ask(router, [judgement])
    assert measured.results[0].lists["fused"].ids == router.route(judgement.request, k=100).ids
    assert ask(router, [judgement], whole=False).results[0].lists["fused"].ids == router.route(judgement.request).ids
    assert measured.scores().shape == (1, len(METRICS)) and measured.scores("nothing").shape == (0, len(METRICS))
    unknown = measure(router, [judgement, taking("2", "sing", "choir/sing")], bench="office")["unknown"]
    assert unknown == ["choir/sing"]
    twins = Router.from_tools([make_record("pay", provider) for provider in ("a", "b")], encoder=None)
    assert {*ask(twins, [taking("1", "pay", "b/pay")]).results[0].lists["fused"].ids} == {"a/pay", "b/pay"}


@pytest.fixture
def sure(router: Router) -> Measurement:
    """Two requests that a tool answers and two that none does, with the probabilities that some tool fits."""
    rows = [([REFUND], 0.9, False), ([REFUND], 0.3, True), ([], 0.4, True), ([], 0.2, False)]
    hits = {"fused": RankedList((REFUND,), (1.0,))}
    answers = (
        JudgedResult(taking(str(i), "undo", *tools), hits, fits, refused, 1.0)
        for i, (tools, fits, refused) in enumerate(rows)
    )
    return Measurement(router, router.recipe(), tuple(answers))


def test_requests_without_a_tool_are_scored_by_the_probability_that_one_fits(sure: Measurement) -> None:
    found = figures(sure, "office")
    no_tool = found["no_tool"]
    assert (no_tool["auc"], no_tool["refused_at_95"]) == (3 / 4, 1 / 2)
    assert (no_tool["refused"], no_tool["refused_wrongly"]) == (1 / 2, 1 / 2)
    assert sum(b["requests"] for b in found["reliability"]["bins"]) == 4
    assert found["by"]["kind"]["none"]["refused"] == 1 / 2
    assert json.loads(json.dumps(found)) == found
    unsure = tuple(replace(answer, fits=None, none_fits=False) for answer in sure.results)
    untold = figures(replace(sure, results=unsure), "office")
    assert untold["no_tool"] is None and untold["by"]["kind"]["none"]["refused"] is None


def test_latency_leaves_the_first_ten_out(sure: Measurement) -> None:
    slow, quick = (replace(sure.results[0], milliseconds=ms) for ms in (1e4, 2.0))
    assert replace(sure, results=(slow,) * 10 + (quick,) * 5).latency() == {"p50": 2.0, "p95": 2.0}
    assert replace(sure, results=(slow,)).latency()["p50"] == 1e4
