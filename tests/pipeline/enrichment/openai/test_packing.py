"""Several tools in one request, each provider's turn, and tools beside their siblings."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.enrichment import interleaved_by_provider
from pipeline.enrichment.generator import GeneratedExpansion, GenerationFailure, Outcome, TokenUsage
from pipeline.enrichment.lexicon import LexiconGenerator
from pipeline.enrichment.openai import DirectGenerator
from router.record import ToolRecord
from tests.pipeline.enrichment.catalog_run import catalog, run
from tests.pipeline.enrichment.model_server import (
    COST,
    ModelServer,
    Reply,
    Script,
    answer,
    but,
    completion,
    error,
    replies,
    row,
    spent,
    tools_of,
)
from tests.support.factories import make_record
from tests.support.waiting import until

_FIVE = [make_record(name) for name in "abcde"]


def _names(server: ModelServer) -> list[list[str]]:
    return [[tool["name"] for tool in tools_of(request.body)] for request in server.requests]


def _packed(
    size: int, records: list[ToolRecord], script: Script = answer, **settings: Any
) -> tuple[ModelServer, list[Outcome], dict[str, tuple[str, ...]]]:
    """Ask in packs; return the server, the outcomes and the phrases of each tool that was answered."""
    with ModelServer(script) as server:
        outcomes = list(replies(DirectGenerator(server.settings(tools_per_request=size, **settings)), records))
    said = {o.tool_id: o.expansion.user_phrases for o in outcomes if isinstance(o, GeneratedExpansion)}
    return server, outcomes, said


def test_tools_are_packed_as_many_as_the_settings_say_and_their_usage_is_shared_out() -> None:
    server, outcomes, said = _packed(3, _FIVE)
    assert _names(server) == [list("abc"), list("de")]
    assert said == {f"stripe/{name}": (f"please do {name}",) for name in "abcde"}
    schema = server.requests[0].body["response_format"]["json_schema"]["schema"]
    assert set(schema["properties"]) == {"answers"} and schema["additionalProperties"] is False
    assert [outcome.usage.prompt_tokens for outcome in outcomes] == [334, 333, 333, 500, 500]
    assert sum((outcome.usage for outcome in outcomes[:3]), TokenUsage()) == spent(1_000, 400, 200, COST)
    with ModelServer() as server:  # the packing is in the key
        keys = [DirectGenerator(server.settings(tools_per_request=n)).key(_FIVE[0]) for n in (1, 2, 4)]
    assert keys == [{}, {"tools_per_request": 2}, {"tools_per_request": 4}]


def test_answers_of_a_pack_are_told_apart_by_name_and_one_that_is_missing_is_asked_for_alone() -> None:
    def shuffled(body: dict[str, Any], _: int) -> Reply:
        names = [tool["name"] for tool in tools_of(body)]
        if len(names) == 1:
            return answer(body)
        rows = [row(name) for name in reversed(names) if name != "b"]
        return Reply(completion(json.dumps({"answers": [*rows, row("stranger"), 7, {"tool": None}]})))

    server, outcomes, said = _packed(4, _FIVE[:4], shuffled)
    assert _names(server) == [list("abcd"), ["b"]]
    assert said == {f"stripe/{name}": (f"please do {name}",) for name in "abcd"}
    assert outcomes[1].usage == spent(250 + 1_000, 100 + 400, 50 + 200, COST / 4 + COST)
    assert sum((outcome.usage for outcome in outcomes), TokenUsage()).prompt_tokens == 2_000


def test_tools_of_one_name_are_not_packed_together() -> None:
    records = [make_record("a"), make_record("b"), make_record("a", "linear"), make_record("c")]
    server, _, said = _packed(4, records)
    assert _names(server) == [["a", "b"], ["a", "c"]]
    assert len(said) == 4


def test_a_pack_that_is_refused_fails_all_of_its_tools_and_no_other() -> None:
    _, outcomes, _ = _packed(3, _FIVE, lambda body, n: error(400, "too long") if n == 1 else answer(body))
    assert [isinstance(outcome, GenerationFailure) for outcome in outcomes] == [True] * 3 + [False] * 2


def test_as_many_packs_are_under_way_as_single_questions_would_be() -> None:
    records = [make_record(f"t{n}") for n in range(24)]
    with ModelServer(lambda body, _: answer(body) if until(lambda: server.most_at_once > 2) else Reply("")) as server:
        list(replies(DirectGenerator(server.settings(tools_per_request=4, concurrency=3)), records))
    assert (len(server.requests), server.most_at_once) == (6, 3)


def test_where_the_budget_ends_early_each_provider_has_had_its_turn() -> None:
    records = [make_record(f"{p}{n}", p) for p, count in (("x", 10), ("y", 2), ("z", 2)) for n in range(count)]
    turns = interleaved_by_provider(records)
    assert _packed(1, turns, max_tools=4)[0].asked == ["x0", "y0", "z0", "x1"]
    assert sorted(r.tool_id for r in turns) == sorted(r.tool_id for r in records)
    assert [r.name for r in turns if r.provider == "x"] == [f"x{n}" for n in range(10)]


def test_a_tool_is_asked_about_beside_its_siblings_and_its_better_answer_replaces_the_first(tmp_path: Path) -> None:
    def told_apart(body: dict[str, Any], _: int) -> Reply:
        message = json.loads(body["messages"][1]["content"])
        if "siblings" not in message:
            return answer(body)
        name, others = message["tool"]["name"], len(message["siblings"])
        return Reply(completion(json.dumps({**row(name), "user_phrases": [f"{name}, unlike {others} others"]})))

    with ModelServer(told_apart) as server:
        siblings = {"a": ["b", "c"], "b": ["a"]}
        model = DirectGenerator(server.settings(tools_per_request=4))
        result = run(tmp_path, catalog(*"abc"), model, siblings=siblings)
        again = run(tmp_path, catalog(*"abc"), model, siblings=siblings)
    assert _names(server) == [list("abc"), ["a"], ["b"]]  # questions with siblings are not packed
    message = json.loads(server.requests[1].body["messages"][1]["content"])
    assert message["siblings"] == [{"name": name, "description": f"It does {name}."} for name in "bc"]
    phrases = {tool_id: written.expansion.user_phrases for tool_id, written in result.written.items()}
    assert phrases == {"a": ("a, unlike 2 others",), "b": ("b, unlike 1 others",), "c": ("please do c",)}
    assert (result.asked, again.reused) == ({"openai": 5}, 5)


def test_a_second_question_that_fails_keeps_the_first_answer(tmp_path: Path) -> None:
    with ModelServer(lambda body, n: answer(body) if n <= 2 else error(400, "no")) as server:
        result = run(tmp_path, catalog("a", "b"), DirectGenerator(server.settings()), siblings={"a": ["b"]})
    assert result.written["a"].expansion.user_phrases == ("please do a",)
    assert [(failure.tool_id, failure.kind) for failure in result.sibling_failures] == [("a", "refused")]
    assert result.failures == []


@pytest.mark.parametrize("refused", ["list_a", "list_b"])
def test_only_what_a_model_wrote_is_asked_about_again(tmp_path: Path, refused: str) -> None:
    names = ["list_a", "list_b", "list_c"]
    with ModelServer(but(refused, error(400, "no"))) as server:
        generators = DirectGenerator(server.settings()), LexiconGenerator()
        result = run(tmp_path, catalog(*names), *generators, siblings={name: ["list_c"] for name in names[:2]})
    assert result.written[refused].generator == "lexicon"
    assert server.asked == [*names, *(name for name in names[:2] if name != refused)]
