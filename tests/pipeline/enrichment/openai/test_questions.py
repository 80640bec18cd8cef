"""Questions to a model, and the cost of its answers."""

import json
from typing import Any

import pytest
from pydantic import SecretStr

from pipeline.enrichment.generator import GeneratedExpansion, GenerationFailure, Question, TokenUsage
from pipeline.enrichment.openai import DirectGenerator
from pipeline.enrichment.prompt import INSTRUCTIONS
from pipeline.settings import Price
from tests.pipeline.enrichment.model_server import (
    COST,
    ModelServer,
    Reply,
    Script,
    answer,
    completion,
    error,
    replies,
    row,
    spent,
)
from tests.support.factories import make_record

_RECORDS = [make_record(name) for name in ("list_charges", "create_refund", "get_balance")]


def _formats(server: ModelServer) -> list[str | None]:
    return [request.body.get("response_format", {}).get("type") for request in server.requests]


def _takes(*formats: str | None) -> Script:
    """Return the script of a server that accepts these response formats and refuses the others by name."""

    def script(body: dict[str, Any], _: int) -> Reply:
        asked = body.get("response_format", {}).get("type")
        return answer(body) if asked in formats else error(400, f"'response_format' {asked} is not supported")

    return script


def test_a_question_goes_to_the_base_url_with_the_key_and_the_model() -> None:
    with ModelServer() as server:
        list(replies(DirectGenerator(server.settings(model="gpt-5-mini")), _RECORDS[:1]))
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer sk-loopback"
    assert request.body["model"] == "gpt-5-mini"


@pytest.mark.parametrize(
    ("key", "sent"),
    [
        (None, "local"),
        (SecretStr(""), "local"),
        (SecretStr(" \n"), "local"),
        (SecretStr("sk-of-a-file\n"), "sk-of-a-file"),
    ],
)
def test_a_key_is_sent_without_its_line_end_and_no_key_as_local(key: SecretStr | None, sent: str) -> None:
    with ModelServer() as server:
        list(replies(DirectGenerator(server.settings(api_key=key)), _RECORDS[:1]))
    assert server.requests[0].headers["authorization"] == f"Bearer {sent}"


def test_the_answer_is_asked_for_by_a_strict_schema_of_eight_fields() -> None:
    with ModelServer() as server:
        list(replies(DirectGenerator(server.settings()), _RECORDS[:1]))
    asked = server.requests[0].body["response_format"]
    assert asked["type"] == "json_schema"
    assert asked["json_schema"]["strict"] is True
    schema = asked["json_schema"]["schema"]
    lists = {"user_phrases", "synonyms", "related_concepts", "task_categories", "requires", "provides"}
    fields = {"tool", "when_to_use", *lists}
    assert set(schema["properties"]) == set(schema["required"]) == fields
    assert schema["additionalProperties"] is False


def test_parameters_are_sent_as_they_are_also_those_that_openai_does_not_know() -> None:
    with ModelServer() as server:
        settings = server.settings(parameters={"temperature": 0, "top_k": 20})
        (outcome,) = replies(DirectGenerator(settings), _RECORDS[:1])
    assert isinstance(outcome, GeneratedExpansion)
    assert server.requests[0].body["temperature"] == 0
    assert server.requests[0].body["top_k"] == 20


def test_the_parameters_are_in_the_key_and_the_concurrency_is_not() -> None:
    with ModelServer() as server:
        one, two, other = (
            DirectGenerator(server.settings(**fields)).key(_RECORDS[0])
            for fields in ({"concurrency": 1}, {"concurrency": 9}, {"parameters": {"temperature": 1}})
        )
    assert one == two != other


def test_an_answer_becomes_an_expansion() -> None:
    with ModelServer() as server:
        (outcome,) = replies(DirectGenerator(server.settings()), _RECORDS[:1])
    assert isinstance(outcome, GeneratedExpansion)
    assert outcome.tool_id == "stripe/list_charges"
    assert outcome.expansion.to_json() == {
        "when_to_use": "When somebody needs list_charges.",
        "user_phrases": ("please do list_charges",),
        "synonyms": ("payments",),
        "related_concepts": (),
        "task_categories": (),
    }


def test_a_cached_token_costs_the_cached_price() -> None:
    with ModelServer() as server:
        (outcome,) = replies(DirectGenerator(server.settings()), _RECORDS[:1])
    assert outcome.usage == spent(1_000, 400, 200, COST)


def test_the_prices_of_the_settings_are_used() -> None:
    with ModelServer() as server:
        prices = {"mine": Price(input=1.0, cached=0.5, output=10.0)}
        (outcome,) = replies(DirectGenerator(server.settings(model="mine", prices=prices)), _RECORDS[:1])
    assert outcome.usage.cost_usd == pytest.approx((600 * 1.0 + 400 * 0.5 + 200 * 10.0) / 1e6)


def test_a_model_without_price_has_tokens_and_no_cost() -> None:
    with ModelServer() as server:
        (outcome,) = replies(DirectGenerator(server.settings(model="llama3")), _RECORDS[:1])
    assert outcome.usage == TokenUsage(1_000, 400, 200, None)


@pytest.mark.parametrize(
    ("said", "usage"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}, TokenUsage(10, 0, 2, 6.5e-06)),
        ({"prompt_tokens": 8, "completion_tokens": 0, "prompt_tokens_details": {}}, TokenUsage(8, 0, 0, 2e-06)),
        ({"total_tokens": 12}, TokenUsage(0, 0, 0, None)),
        ({"prompt_tokens": None, "completion_tokens": None}, TokenUsage(0, 0, 0, None)),
        (None, TokenUsage(0, 0, 0, None)),
    ],
)
def test_a_server_may_count_less_than_openai_does(said: object, usage: TokenUsage) -> None:
    reply = Reply(completion(json.dumps(row("list_charges")), usage=said))
    with ModelServer(lambda *_: reply) as server:
        (outcome,) = replies(DirectGenerator(server.settings()), _RECORDS[:1])
    assert isinstance(outcome, GeneratedExpansion)
    assert outcome.usage == usage


def test_usages_add_up_and_a_cost_unknown_in_part_is_unknown() -> None:
    assert TokenUsage(1, 2, 3, 0.5) + TokenUsage(10, 20, 30, 0.25) == TokenUsage(11, 22, 33, 0.75)
    assert (TokenUsage(1, 0, 0, 0.5) + TokenUsage(1, 0, 0, None)).cost_usd is None


@pytest.mark.parametrize(
    ("taken", "asked"),
    [
        (("json_schema",), ["json_schema"] * 3),
        (("json_object", None), ["json_schema", "json_object", "json_object", "json_object"]),
        ((None,), ["json_schema", "json_object", None, None, None]),
    ],
)
def test_a_refused_format_falls_to_the_next_once_and_for_good(
    taken: tuple[str | None, ...], asked: list[str | None]
) -> None:
    with ModelServer(_takes(*taken)) as server:
        outcomes = list(replies(DirectGenerator(server.settings()), _RECORDS))
    assert _formats(server) == asked
    assert [outcome.tool_id for outcome in outcomes if isinstance(outcome, GeneratedExpansion)] == [
        r.tool_id for r in _RECORDS
    ]


def test_without_a_schema_the_instructions_ask_for_json_in_words() -> None:
    with ModelServer(_takes(None)) as server:
        list(replies(DirectGenerator(server.settings()), _RECORDS[:1]))
    first, *rest = (request.body["messages"][0]["content"] for request in server.requests)
    assert first == INSTRUCTIONS
    assert all(text.startswith(INSTRUCTIONS) and "one JSON object" in text[len(INSTRUCTIONS) :] for text in rest)


def test_a_server_that_takes_no_format_at_all_gives_failures() -> None:
    with ModelServer(_takes()) as server:
        outcomes = list(replies(DirectGenerator(server.settings()), _RECORDS))
    assert [outcome.kind for outcome in outcomes if isinstance(outcome, GenerationFailure)] == ["refused"] * 3


def test_a_400_about_something_else_keeps_the_format() -> None:
    with ModelServer(lambda body, n: error(400, "context is too long") if n == 1 else answer(body)) as server:
        first, *rest = replies(DirectGenerator(server.settings()), _RECORDS)
    assert isinstance(first, GenerationFailure) and first.kind == "refused" and "context is too long" in first.message
    assert all(isinstance(outcome, GeneratedExpansion) for outcome in rest)
    assert _formats(server) == ["json_schema"] * 3


def test_many_questions_at_once_fall_back_together() -> None:
    records = [make_record(f"tool_{number}") for number in range(40)]
    with ModelServer(_takes(None)) as server:
        outcomes = list(replies(DirectGenerator(server.settings(concurrency=8)), records))
    assert all(isinstance(outcome, GeneratedExpansion) for outcome in outcomes)
    assert _formats(server)[-20:] == [None] * 20
    assert len(server.requests) <= 40 + 2 * 8


def test_a_secret_among_the_parameters_is_stored_as_a_hash() -> None:
    with ModelServer() as server:
        settings = server.settings(parameters={"temperature": 0.5, "api_key": "sk-of-a-proxy"})
        prompt = DirectGenerator(settings).prompt(Question("key", _RECORDS[0]))
    assert prompt is not None and prompt.parameters["temperature"] == 0.5
    assert prompt.parameters["api_key"].startswith("sha256:") and "proxy" not in str(prompt.parameters)
