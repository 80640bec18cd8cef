"""Questions to a model, and the cost of its answers."""

import json
from typing import Any

import pytest
from pydantic import SecretStr

from pipeline.enrichment.generator import GeneratedExpansion, GenerationFailure, Outcome, TokenUsage
from pipeline.enrichment.openai import DirectGenerator
from pipeline.enrichment.prompt import INSTRUCTIONS
from pipeline.settings.enrichment import Price
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


def _asked(script: Script = answer, count: int = 3, **settings: Any) -> tuple[ModelServer, list[Outcome]]:
    with ModelServer(script) as server:
        return server, list(replies(DirectGenerator(server.settings(**settings)), _RECORDS[:count]))


def _formats(server: ModelServer) -> list[str | None]:
    return [request.body.get("response_format", {}).get("type") for request in server.requests]


def _takes(*formats: str | None) -> Script:
    """Return the script of a server that accepts these response formats and refuses the others by name."""

    def script(body: dict[str, Any], _: int) -> Reply:
        asked = body.get("response_format", {}).get("type")
        return answer(body) if asked in formats else error(400, f"'response_format' {asked} is not supported")

    return script


def test_a_question_has_key_model_parameters_and_a_strict_schema_and_its_answer_becomes_an_expansion() -> None:
    # top_k is none of OpenAI's own parameters.
    server, (outcome,) = _asked(count=1, parameters={"temperature": 0, "top_k": 20})
    (request,) = server.requests
    assert (request.path, request.headers["authorization"]) == ("/v1/chat/completions", "Bearer sk-loopback")
    assert [request.body[name] for name in ("model", "temperature", "top_k")] == ["gpt-5-mini", 0, 20]
    asked = request.body["response_format"]
    assert (asked["type"], asked["json_schema"]["strict"]) == ("json_schema", True)
    schema = asked["json_schema"]["schema"]
    lists = {"user_phrases", "synonyms", "related_concepts", "task_categories", "requires", "provides"}
    assert set(schema["properties"]) == set(schema["required"]) == {"tool", "when_to_use", *lists}
    assert schema["additionalProperties"] is False
    assert isinstance(outcome, GeneratedExpansion) and outcome.tool_id == "stripe/list_charges"
    assert outcome.expansion.to_json() == {
        "when_to_use": "When somebody needs list_charges.",
        "user_phrases": ("please do list_charges",),
        "synonyms": ("payments",),
        "related_concepts": (),
        "task_categories": (),
    }
    assert _asked(count=0)[0].requests == []


@pytest.mark.parametrize(
    ("key", "sent"),
    [(None, "local"), ("", "local"), (" \n", "local"), ("sk-of-a-file\n", "sk-of-a-file")],
)
def test_a_key_is_sent_without_its_line_end_and_no_key_as_local(key: str | None, sent: str) -> None:
    server, _ = _asked(count=1, api_key=None if key is None else SecretStr(key))
    assert server.requests[0].headers["authorization"] == f"Bearer {sent}"


def test_the_parameters_are_in_the_key_and_a_secret_among_them_is_stored_as_a_hash() -> None:
    with ModelServer() as server:
        one, two, other = (
            DirectGenerator(server.settings(**fields)).question(_RECORDS[0], "").key
            for fields in ({"concurrency": 1}, {"concurrency": 9}, {"parameters": {"temperature": 1}})
        )
        generator = DirectGenerator(server.settings(parameters={"temperature": 0.5, "api_key": "sk-of-a-proxy"}))
        prompt = generator.question(_RECORDS[0], "").prompt
        assert generator.question(_RECORDS[0], "").prompt is prompt  # rendered once
    assert one == two != other
    assert prompt.parameters["temperature"] == 0.5
    assert prompt.parameters["api_key"].startswith("sha256:") and "proxy" not in str(prompt.parameters)


@pytest.mark.parametrize(
    ("settings", "usage"),
    [
        ({}, spent(1_000, 400, 200, COST)),  # a cached token costs the cached price
        ({"model": "llama3"}, TokenUsage(1_000, 400, 200, None)),
        (
            {"model": "mine", "prices": {"mine": Price(input=1.0, cached=0.5, output=10.0)}},
            spent(1_000, 400, 200, (600 * 1.0 + 400 * 0.5 + 200 * 10.0) / 1e6),
        ),
    ],
    ids=["known", "unknown", "of the settings"],
)
def test_an_answer_costs_its_tokens_by_the_models_price(settings: dict[str, Any], usage: TokenUsage) -> None:
    assert _asked(count=1, **settings)[1][0].usage == usage


@pytest.mark.parametrize(
    ("said", "usage"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}, TokenUsage(10, 0, 2, 6.5e-06)),
        ({"total_tokens": 12}, TokenUsage(0, 0, 0, None)),
        ({"prompt_tokens": "many", "completion_tokens": 2}, TokenUsage(0, 0, 0, None)),
        (None, TokenUsage(0, 0, 0, None)),
    ],
)
def test_a_server_may_count_less_than_openai_does(said: object, usage: TokenUsage) -> None:
    _, (outcome,) = _asked(lambda *_: Reply(completion(json.dumps(row("list_charges")), usage=said)), count=1)
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
    server, outcomes = _asked(_takes(*taken))
    assert _formats(server) == asked
    assert all(isinstance(outcome, GeneratedExpansion) for outcome in outcomes)
    for request, mode in zip(server.requests, asked, strict=True):  # without a schema words ask for JSON
        said = request.body["messages"][0]["content"]
        assert said.startswith(INSTRUCTIONS)
        assert ("one JSON object" in said[len(INSTRUCTIONS) :]) is (mode != "json_schema")


def test_a_server_that_takes_no_format_gives_failures_and_a_400_about_something_else_keeps_the_format() -> None:
    _, outcomes = _asked(_takes())
    assert [outcome.kind for outcome in outcomes if isinstance(outcome, GenerationFailure)] == ["refused"] * 3
    server, (first, *_) = _asked(lambda body, n: error(400, "context is too long") if n == 1 else answer(body))
    assert isinstance(first, GenerationFailure) and first.kind == "refused" and "context is too long" in first.message
    assert _formats(server) == ["json_schema"] * 3


def test_many_questions_at_once_fall_back_together() -> None:
    with ModelServer(_takes(None)) as server:
        records = [make_record(f"tool_{number}") for number in range(40)]
        outcomes = list(replies(DirectGenerator(server.settings(concurrency=8)), records))
    assert all(isinstance(outcome, GeneratedExpansion) for outcome in outcomes)
    assert _formats(server)[-20:] == [None] * 20
    assert len(server.requests) <= 40 + 2 * 8
