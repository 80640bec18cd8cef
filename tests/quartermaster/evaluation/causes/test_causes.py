"""Counts by cause: they add up, cost what the means lack, and do not depend on the order of the requests."""

import json
import math
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from quartermaster.evaluation import Cause, Judgement, Measurement, ask, cause_changes, causes, evaluate
from quartermaster.evaluation.measurement import JudgedResult, RankedList
from router import Router
from router.contract import DOCUMENT_SIGNALS
from tests.quartermaster.evaluation.judging import taking
from tests.support.factories import TOOLS

IDS = tuple(tool["id"] for tool in TOOLS)
TOOL = st.sampled_from((*IDS, "choir/sing"))
RANKING = st.lists(TOOL, unique=True).map(tuple)


@st.composite
def _results(draw: st.DrawFn) -> JudgedResult:
    """A judged request with drawn lists. Padding stands for wrong tools in the first ten."""
    kind = draw(st.sampled_from(("single", "multi", "none")))
    groups = tuple(draw(st.lists(st.frozensets(TOOL, min_size=1, max_size=3), max_size=4)))
    required = draw(st.frozensets(TOOL, max_size=4))
    acceptable = required | draw(st.frozensets(TOOL, max_size=3))
    request = draw(st.sampled_from(("undo a payment", "file a ticket and tell the team", "zzz", "list all issues")))
    judgement = Judgement("", request, required, acceptable, kind, groups)
    lists = {str(name): draw(RANKING) for name in DOCUMENT_SIGNALS}
    cut = draw(st.integers(0, len(IDS)))
    lists["fused"] = (*draw(RANKING)[:cut], *("weather/getForecast",) * draw(st.integers(0, 10)))
    ranked = {name: RankedList(tuple(i for i in ids if i in IDS), ()) for name, ids in lists.items()}
    return JudgedResult(judgement, ranked, draw(st.sampled_from((None, 0.5))), draw(st.booleans()), 1.0)


def _measurement(router: Router, results: list[JudgedResult]) -> Measurement:
    numbered = [replace(r, judgement=structs.replace(r.judgement, id=f"q{i}")) for i, r in enumerate(results)]
    return Measurement(router, router.recipe("lexical"), tuple(numbered))


@settings(max_examples=settings().max_examples // 4)  # each asks for the cause of a dozen steps
@given(results=st.lists(_results(), max_size=8), seed=st.integers(0, 100))
def test_counts_add_up_to_the_missed_steps_in_any_order_of_the_requests(
    router: Router, results: list[JudgedResult], seed: int
) -> None:
    measured = _measurement(router, results)
    found = causes(measured)
    rows = found["by_cause"].values()
    missed = sum(
        not step & set(result.lists["fused"].ids[:10])
        for result in measured.results
        if result.judgement.kind != "none"
        for step in result.judgement.steps
    )
    assert list(found["by_cause"]) == list(Cause)
    assert sum(row["steps"] for row in rows) == found["missed"] == missed <= found["steps"]
    assert all(sum(row["nearest"].values()) == row["steps"] for row in rows)
    assert sum(row["share"] for row in rows) == pytest.approx(1 if missed else 0)
    assert all(len(row["examples"]) == min(2, row["requests"]) for row in rows)
    assert json.loads(json.dumps(found)) == found
    shuffled = random.Random(seed).sample(measured.results, len(results))
    assert causes(replace(measured, results=tuple(shuffled))) == found


@settings(max_examples=settings().max_examples // 4)
@given(results=st.lists(_results(), max_size=8))
def test_the_losses_add_up_to_what_the_means_lack(router: Router, results: list[JudgedResult]) -> None:
    # A tool twice in a list has no meaning for nDCG.
    unique = [
        replace(r, lists={name: RankedList(tuple(dict.fromkeys(of.ids)), ()) for name, of in r.lists.items()})
        for r in results
    ]
    measured = _measurement(router, unique)
    found, means = causes(measured), evaluate(measured.pairs())

    def total(key: str) -> float:
        return math.fsum(row["lost"][key] for row in found["by_cause"].values())

    assert total("full@10") == pytest.approx(found["lost"]["full@10"])
    full, ndcg = means["full@10"], means["ndcg@10"]
    assert found["lost"]["full@10"] == pytest.approx(0 if full is None else 1 - full)
    order = found["order"]["lost"]["ndcg@10"]
    assert order >= 0 and total("ndcg@10") + order == pytest.approx(0 if ndcg is None else 1 - ndcg)


@settings(max_examples=settings().max_examples // 4)
@given(pairs=st.lists(st.tuples(_results(), _results()), max_size=6))
def test_what_is_mended_and_broken_is_the_difference(
    router: Router, pairs: list[tuple[JudgedResult, JudgedResult]]
) -> None:
    first = _measurement(router, [one for one, _ in pairs])
    second = _measurement(router, [replace(other, judgement=one.judgement) for one, other in pairs])
    rows = cause_changes(first, second).values()
    in_all = {name: sum(row[name] for row in rows) for name in ("first", "second", "mended", "broken")}
    assert in_all["first"] - in_all["broken"] == in_all["second"] - in_all["mended"] >= 0
    assert all(row["mended"] <= row["second"] and row["broken"] <= row["first"] for row in rows)


def test_an_example_says_what_was_missed_and_what_stood_instead(router: Router) -> None:
    judgements = [taking("b", "undo a payment", "choir/sing"), taking("a", "undo a payment", "stripe/create_refund")]
    found: dict[str, Any] = causes(ask(router, judgements, "lexical"))["by_cause"]["absent"]
    (example,) = found["examples"]
    assert {name: example[name] for name in ("id", "missed", "rank", "nearest", "evidence")} == {
        "id": "b", "missed": ["choir/sing"], "rank": None, "nearest": "none", "evidence": "not in this snapshot"
    }  # fmt: skip
    assert example["instead"][0] == "stripe/create_refund"
    assert (found["steps"], found["share"], found["lost"]["full@10"]) == (1, 1.0, 0.5)


def test_requests_that_no_tool_answers_count_where_the_router_answers_them(router: Router) -> None:
    lists = {"fused": RankedList(("stripe/create_refund",), (1.0,))}
    none, single = taking("n", "sing"), taking("s", "undo", "stripe/create_refund")
    told = (JudgedResult(none, lists, 0.9, False, 1.0), JudgedResult(single, lists, 0.2, True, 1.0))
    expected = {"unanswerable": 1, "answered": 1, "answerable": 1, "refused": 1}
    assert causes(Measurement(router, router.recipe(), told))["abstention"] == expected
    untold = tuple(replace(result, fits=None) for result in told)
    assert causes(Measurement(router, router.recipe(), untold))["abstention"] is None
