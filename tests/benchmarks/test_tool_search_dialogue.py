"""The dialogue in which a model searches for its tools: what a prompt costs, what is found, what is at hand."""

from pathlib import Path

import pytest

from benchmarks.support.hosted_search import Bm25Search, RegexSearch
from benchmarks.tool_search_dialogue import Bill, measure, reworded
from pipeline.build import build
from pipeline.settings import load
from quartermaster.evaluation import Judgement
from router import Router
from router.record import Parameter
from tests.support.factories import make_record
from tests.support.quick import QUICK


@pytest.fixture(scope="module")
def router(catalog_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Router:
    """A router over eight tools that needs no encoder."""
    return Router.open(
        build(load(catalog_folder, QUICK, environment={}), workspace=tmp_path_factory.mktemp("words")).snapshot
    )


def turn(request: str, *required: str) -> Judgement:
    return Judgement(request, request, frozenset(required), frozenset(required), "single")


def test_a_prompt_is_cached_from_1024_tokens_in_steps_of_128() -> None:
    bill = Bill(len)  # a token a character
    bill.request(["x" * 998], [])  # 1,000 with the quotes of JSON
    bill.request(["x" * 998], ["y" * 98])  # 1,100, of which 1,000 are too few to be cached
    assert (bill.tokens, bill.cached, bill.requests) == (2_100, 0, 2)
    bill.request(["x" * 998], ["y" * 98, "z" * 198])  # 1,300, of which 1,100 stood before: 8 * 128 = 1,024
    assert (bill.tokens, bill.cached) == (3_400, 1_024)
    bill.request(["w"], [])
    assert bill.cached == 1_024


def test_a_second_search_has_no_names_and_no_numbers() -> None:
    assert reworded("In Stripe, return 75 euros to Lindholm") == "in return euros to"


def test_the_stand_ins_read_names_descriptions_and_arguments() -> None:
    harbour = (Parameter("harbour", "string", "Where from."),)
    records = [make_record("ferryTimes", description="When they leave.", parameters=harbour), make_record("refund")]
    for search in (Bm25Search(records), RegexSearch(records)):
        assert [record.name for record in search.find("the ferry to Texel")] == ["ferryTimes"]
        assert [record.name for record in search.find("which harbour")] == ["ferryTimes"]
        assert search.find("a fugue") == []


def test_each_way_is_measured_and_only_searches_in_the_prompt_cost_requests(router: Router) -> None:
    dialogue = [turn("do I need an umbrella", "weather/getForecast")] * 2
    figures = measure(router, [dialogue], len)
    found = {name: (row["at_hand"], row["requests"]) for name, row in figures.items()}
    # A call and an answer each turn; the router's search takes one request more, once: the tool stays loaded.
    assert found["all tools in the prompt"] == (1.0, 4)
    assert found["best 8 afresh each turn"] == (1.0, 4)
    assert found["client-executed, router"] == found["client-executed, router, short"] == (1.0, 5)
    # No hosted search finds the forecast by "umbrella": only the router's phrases have the word.
    assert found["hosted, BM25"] == found["hosted, regex"] == (0.0, 2)
    assert all(row["cached"] <= row["tokens"] and row["paid"] <= row["tokens"] for row in figures.values())
    short, full = (figures[f"client-executed, router{detail}"]["tokens"] for detail in (", short", ""))
    assert short <= full
