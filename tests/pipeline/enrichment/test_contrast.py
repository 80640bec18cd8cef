"""A second question about a tool, beside its siblings."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.enrichment import interleaved_by_provider
from pipeline.enrichment.openai import DirectGenerator
from tests.pipeline.enrichment.catalog_run import catalog, run
from tests.pipeline.enrichment.model_server import (
    ModelServer,
    Reply,
    answer,
    but,
    completion,
    error,
    replies,
    row,
    tool_of,
)
from tests.support.factories import make_record


def test_where_the_budget_ends_early_each_provider_has_had_its_turn() -> None:
    records = [make_record(f"{p}{n}", p) for p, count in (("x", 10), ("y", 2), ("z", 2)) for n in range(count)]
    turns = interleaved_by_provider(records)
    with ModelServer() as server:
        list(replies(DirectGenerator(server.settings(max_tools=4)), turns))
    assert server.asked == ["x0", "y0", "z0", "x1"]
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
        model = DirectGenerator(server.settings())
        result = run(tmp_path, catalog(*"abc"), model, siblings=siblings)
        again = run(tmp_path, catalog(*"abc"), model, siblings=siblings)
    assert server.asked == ["a", "b", "c", "a", "b"]
    message = json.loads(server.requests[3].body["messages"][1]["content"])
    assert message["siblings"] == [{"name": name, "description": f"It does {name}."} for name in "bc"]
    phrases = {tool_id: written.expansion.user_phrases for tool_id, written in result.written.items()}
    assert phrases == {"a": ("a, unlike 2 others",), "b": ("b, unlike 1 others",), "c": ("please do c",)}
    assert (result.asked, again.reused) == ({"openai": 5}, 5)


def test_a_second_question_that_fails_keeps_the_first_answer(tmp_path: Path) -> None:
    with ModelServer(lambda body, n: answer(body) if n <= 2 else error(400, "no")) as server:
        result = run(tmp_path, catalog("a", "b"), DirectGenerator(server.settings()), siblings={"a": ["b"]})
    assert result.written["a"].expansion.user_phrases == ("please do a",)
    assert result.failures == []


@pytest.mark.parametrize("refused", ["list_a", "list_b"])
def test_only_what_a_model_wrote_is_asked_about_again(tmp_path: Path, refused: str) -> None:
    names = ["list_a", "list_b", "list_c"]
    with ModelServer(but(refused, error(400, "no"))) as server:
        generator = DirectGenerator(server.settings())
        result = run(tmp_path, catalog(*names), generator, siblings={name: ["list_c"] for name in names[:2]})
    assert refused not in result.written
    assert server.asked == [*names, *(name for name in names[:2] if name != refused)]


@pytest.mark.parametrize(("phrases", "kept"), [(2, 5), (3, 3)])
def test_a_second_answer_with_less_than_half_of_the_phrases_does_not_replace_the_first(
    tmp_path: Path, phrases: int, kept: int
) -> None:
    def fewer(body: dict[str, Any], _: int) -> Reply:
        count = phrases if "siblings" in json.loads(body["messages"][1]["content"]) else 5
        return Reply(completion(json.dumps({**row("a"), "user_phrases": [f"phrase {n}" for n in range(count)]})))

    with ModelServer(lambda body, n: fewer(body, n) if tool_of(body)["name"] == "a" else answer(body)) as server:
        result = run(tmp_path, catalog("a", "b"), DirectGenerator(server.settings()), siblings={"a": ["b"]})
    assert len(result.written["a"].expansion.user_phrases) == kept
