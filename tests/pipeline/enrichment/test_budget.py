"""The budget of a build, and the money that it spends."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from pipeline.enrichment.generator import GenerationFailure, Outcome
from pipeline.enrichment.openai import DirectGenerator
from pipeline.enrichment.openai.model import Budget
from pipeline.settings.enrichment import EnrichmentSettings, Price
from tests.pipeline.enrichment.catalog_run import catalog, ledger_rows, run
from tests.pipeline.enrichment.model_server import (
    COST,
    ModelServer,
    Reply,
    Script,
    answer,
    completion,
    replies,
)
from tests.support.factories import make_record

_RECORDS = [make_record(f"tool_{number}") for number in range(40)]


def _asked(script: Script = answer, **settings: Any) -> tuple[ModelServer, list[Outcome], Counter[str]]:
    """Ask about forty tools; return the server, the outcomes and how many there are of each kind."""
    with ModelServer(script) as server:
        outcomes = list(replies(DirectGenerator(server.settings(**settings)), _RECORDS))
    kinds = Counter(outcome.kind if isinstance(outcome, GenerationFailure) else "answer" for outcome in outcomes)
    return server, outcomes, kinds


def test_money_is_set_aside_until_it_is_settled() -> None:
    budget = Budget(max_cost_usd=1.0)
    assert budget.reserve(0.6) and not budget.reserve(0.6)
    budget.settle(0.6, 0.25)
    assert budget.reserve(0.25) and budget.reserve(0.25, new_tool=False) and not budget.reserve(0.75)
    budget.settle(0.5, None)  # of unknown cost: all that was set aside
    assert budget.reserve(0.25) and not budget.reserve(0.01)
    assert all(Budget().reserve(1e9) for _ in range(10))


def test_tools_are_counted_when_they_are_asked_about_and_a_second_question_is_no_other_tool() -> None:
    budget = Budget(max_tools=2)
    assert budget.reserve(0.0) and budget.reserve(0.0, new_tool=False)
    assert budget.reserve(0.0) and not budget.reserve(0.0)
    assert "2 other tools were, and enrichment.max_tools (--max-tools) is 2" in budget.reason()


@pytest.mark.parametrize("concurrency", [1, 16])
@pytest.mark.parametrize("answers_in_dollars", [4, 20])
def test_a_run_never_spends_more_than_it_may(concurrency: int, answers_in_dollars: float) -> None:
    limit = answers_in_dollars * COST
    server, outcomes, kinds = _asked(max_cost_usd=limit, concurrency=concurrency)
    spent = sum(outcome.usage.cost_usd or 0.0 for outcome in outcomes)
    assert len(server.requests) * COST == pytest.approx(spent)
    # What is left is less than a request may cost: 800 tokens out, some 1,200 in, none of them cached.
    assert 0 < spent <= limit < spent + 3.5 * COST
    assert kinds == {"answer": len(server.requests), "budget": 40 - len(server.requests)}


def test_answers_that_cannot_be_used_and_are_asked_for_again_are_paid_from_the_same_reservation() -> None:
    server, _, kinds = _asked(lambda *_: Reply(completion("broken")), max_cost_usd=9 * COST, concurrency=8)
    assert len(server.requests) <= 9
    assert kinds["budget"] >= 31


def test_answers_longer_than_any_before_stay_inside_the_bound_that_the_parameters_set() -> None:
    def longer(body: dict[str, Any], count: int) -> Reply:
        usage = {"prompt_tokens": 1_000, "completion_tokens": min(100 * count, 1_500)}
        return Reply({**answer(body).body, "usage": usage}, delay_s=0.01)

    parameters = {"max_completion_tokens": 1_500}
    _, outcomes, kinds = _asked(longer, max_cost_usd=0.05, concurrency=16, parameters=parameters)
    assert 10 <= kinds["answer"] < 40
    assert sum(outcome.usage.cost_usd or 0.0 for outcome in outcomes) <= 0.05


def test_a_server_that_does_not_count_is_reckoned_with_what_was_set_aside() -> None:
    def uncounted(body: dict[str, Any], _: int) -> Reply:
        return Reply({**answer(body).body, "usage": None})

    server, _, _ = _asked(uncounted, max_cost_usd=10 * COST, concurrency=4)
    assert 1 <= len(server.requests) <= 10


@pytest.mark.parametrize(
    ("limit", "answers"), [({"max_tools": 10}, 10), ({"max_tools": 0}, 0), ({"max_cost_usd": 0.0}, 0)]
)
def test_as_many_tools_are_asked_about_as_may_be(limit: dict[str, Any], answers: int) -> None:
    server, _, kinds = _asked(**limit, concurrency=4)
    assert (kinds["answer"], kinds["budget"]) == (answers, 40 - answers)
    assert len(server.requests) == answers


def test_what_the_budget_leaves_out_is_postponed_and_no_failure_in_the_ledger(tmp_path: Path) -> None:
    with ModelServer() as server:
        first = run(tmp_path, catalog(*"abcde"), DirectGenerator(server.settings(max_tools=2)))
        assert [(failure.kind, failure.postponed) for failure in first.failures] == [("budget", True)] * 3
        assert "enrichment.max_tools (--max-tools) is 2" in first.failures[0].message
        assert first.asked == {"openai": 2}
        assert ledger_rows(tmp_path, "SELECT count(*) FROM failures") == [(0,)]
        second = run(tmp_path, catalog(*"abcde"), DirectGenerator(server.settings()))
    assert server.asked == list("abcde")
    assert (second.reused, sorted(second.written)) == (2, list("abcde"))


def test_a_limit_in_dollars_needs_a_price() -> None:
    reaching: dict[str, Any] = {"api_key": SecretStr("sk"), "model": "llama3", "max_cost_usd": 1.0}
    with pytest.raises(ValidationError, match="max_cost_usd needs the price of 'llama3'"):
        EnrichmentSettings(**reaching)
    priced = EnrichmentSettings(**reaching, prices={"llama3": Price(input=1, cached=1, output=1)})
    assert priced.max_cost_usd == 1.0
    EnrichmentSettings(model="llama3", max_cost_usd=1.0)  # no server: nothing to pay
