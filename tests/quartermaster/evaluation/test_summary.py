"""What a measurement says as JSON."""

import json
from dataclasses import replace

import pytest

from quartermaster.evaluation import METRICS, JudgedResult, Measurement, RankedList, ask, figures, unknown_tools, worst
from quartermaster.evaluation.summary import misses, why
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
    result = figures(ask(router, judgements, "lexical"), "office")
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


def test_another_cutoff_is_measured_beside_ten(router: Router) -> None:
    judgements = [taking("1", "undo a payment", REFUND), taking("2", "undo a payment", "weather/getForecast")]
    measured = ask(router, judgements, "lexical")
    result = figures(measured, "office", [1, 10, 100])
    assert result["at"]["10"]["signals"] == result["signals"]
    assert result["at"]["10"]["intervals"]["fused"] == result["intervals"]["fused"]
    for cutoff in (1, 100):
        firsts = [(one.judgement.acceptable, one.lists["fused"].ids[:cutoff]) for one in measured.results]
        found = sum(not wanted.isdisjoint(first) for wanted, first in firsts) / 2
        assert result["at"][str(cutoff)]["signals"]["fused"][f"full@{cutoff}"] == found
    assert figures(measured, "office")["at"] == {}


def test_the_list_that_is_measured_is_the_answer_itself_with_duplicates_one_by_one(router: Router) -> None:
    judgement = taking("1", "open a ticket for the broken printer", "linear/create_issue")
    measured = ask(router, [judgement])
    assert measured.results[0].lists["fused"].ids == router.route(judgement.request, k=100).ids
    assert ask(router, [judgement], whole=False).results[0].lists["fused"].ids == router.route(judgement.request).ids
    assert measured.scores().shape == (1, len(METRICS)) and measured.scores("nothing").shape == (0, len(METRICS))
    unknown = unknown_tools(ask(router, [judgement, taking("2", "sing", "choir/sing")]))
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


def test_the_worst_come_first_with_what_was_required_and_what_was_returned(router: Router) -> None:
    undo, steps = "undo a payment", [f"choir/sing{number}" for number in range(11)]
    judgements = [
        taking("good", undo, "stripe/create_refund"),
        taking("bad", undo, "weather/getForecast"),
        taking("gone", "sing in the choir", *steps),
        taking("none", undo),
    ]
    found = worst(ask(router, judgements, "lexical"), 10)
    assert [row["id"] for row in found] == ["bad", "gone"]  # what is answered without fault is no part of it
    bad, gone = found
    assert bad["returned"][0]["tool_id"] == "stripe/create_refund" and not bad["returned"][0]["right"]
    assert bad["required"][0]["rank"] == router.diagnose(undo, "weather/getForecast", recipe="lexical").rank
    assert gone["required"][0]["why"] == "not in this snapshot"
    assert (len(gone["required"]), gone["required_left_out"]) == (8, 3)
    assert len(worst(ask(router, judgements, "lexical"), 1)) == 1


def test_missed_steps_are_put_down_to_what_is_at_fault(router: Router) -> None:
    gone = [taking("gone", "undo a payment", "stripe/create_refund", "choir/sing"), taking("none", "sing")]
    assert misses(ask(router, gone)) == {"steps": 2, "fusion": 0, "retrieval": 0, "absent": 1}
    unfound = [taking("unfound", "zzz", "stripe/create_refund")]
    assert misses(ask(router, unfound, "lexical")) == {"steps": 1, "fusion": 0, "retrieval": 1, "absent": 0}


@pytest.mark.parametrize(
    ("rank", "ranks", "said"),
    [
        (None, {}, "in no list: it has no word in common with the request"),
        (1, {"name": 1}, "returned"),
        (4, {"name": 9, "dense": 2}, "returned at 4: dense ranks it 2"),
        (14, {"dense": 5, "expansion": 60, "description": 70}, "lost in fusion: dense ranks it 5, name not at all"),
        (40, {"dense": 21}, "below the first 10 of every list: dense ranks it 21"),
        (None, {"dense": 1_200}, "far down in every list: dense ranks it 1,200"),
    ],
)
def test_a_rank_is_explained_in_few_words(rank: int | None, ranks: dict[str, int], said: str) -> None:
    assert why(rank, ranks) == said
