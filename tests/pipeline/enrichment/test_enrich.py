"""A catalog through its generators, with a real ledger and a real server."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.enrichment import Enrichment, Expansion
from pipeline.enrichment.chain import FileGenerator
from pipeline.enrichment.generator import TokenUsage
from pipeline.enrichment.openai import DirectGenerator
from pipeline.enrichment.prompt import PROMPT_VERSION
from pipeline.errors import RunAborted
from tests.pipeline.enrichment.catalog_run import catalog, ledger_rows, run
from tests.pipeline.enrichment.model_server import (
    COST,
    ModelServer,
    Reply,
    answer,
    but,
    completion,
    error,
    spent,
)

_BROKEN = Reply(completion("broken"))
_NO_KEY = error(401, "Incorrect API key provided.", code="invalid_api_key")


def _by(result: Enrichment) -> dict[str, str]:
    return {tool_id: written.generator for tool_id, written in sorted(result.written.items())}


def test_each_tool_goes_down_the_chain_until_a_generator_has_an_answer(
    tmp_path: Path, write_lines: Callable[[str, list[Any]], Path]
) -> None:
    lines = [{"id": "a", "user_phrases": ["by hand"]}, {"id": "b", "user_phrases": "of the wrong shape"}]
    file = FileGenerator(write_lines("e.jsonl", lines), {})
    with ModelServer(but("c", _BROKEN)) as server:
        result = run(tmp_path, catalog(*"abcd"), file, DirectGenerator(server.settings()))
    assert _by(result) == {"a": "file", "b": "openai", "d": "openai"}
    assert server.asked == ["b", "c", "c", "d"]  # a broken answer is asked for once more
    assert result.written["a"].expansion == Expansion("", ("by hand",))
    assert result.asked == {"file": 2, "openai": 3}
    assert result.generators == {"file": 1, "openai": 2}
    assert [(failure.tool_id, failure.kind) for failure in result.failures] == [("b", "shape"), ("c", "shape")]
    assert result.usage == spent(4_000, 1_600, 800, 4 * COST)  # the failure was paid for too, twice


def test_a_second_run_asks_only_what_failed_and_a_third_nothing(tmp_path: Path) -> None:
    with ModelServer(but("b", _BROKEN)) as server:
        chain = [DirectGenerator(server.settings())]
        first = run(tmp_path, catalog(*"abc"), *chain)
        server.script = answer
        second, third = (run(tmp_path, catalog(*"abc"), *chain) for _ in range(2))
        moved = run(tmp_path, catalog("a", id="office/a"), *chain)
    assert server.asked == ["a", "b", "b", "c", "b"]
    assert ("b" in _by(first), _by(second)["b"]) == (False, "openai")
    assert (second.reused, second.asked) == (2, {"openai": 1})
    assert third.written == second.written
    assert (third.reused, third.asked, third.usage) == (3, {}, TokenUsage(0, 0, 0, 0.0))
    assert list(moved.written) == ["office/a"]  # an id is no part of the question


def test_an_aborted_run_keeps_the_answers_given_before(tmp_path: Path) -> None:
    with ModelServer(lambda body, n: answer(body) if n <= 2 else _NO_KEY) as server:
        with pytest.raises(RunAborted, match="Incorrect API key"):
            run(tmp_path, catalog(*"abcd"), DirectGenerator(server.settings()))
        asked_before = len(server.requests)
        server.script = answer
        result = run(tmp_path, catalog(*"abcd"), DirectGenerator(server.settings()))
    assert server.asked[asked_before:] == ["c", "d"]
    assert (result.reused, result.asked) == (2, {"openai": 2})


def test_answers_failures_and_their_costs_are_in_the_ledger(tmp_path: Path) -> None:
    refusal = Reply(completion(None, message={"refusal": "I will not. \ud83d"}))
    with ModelServer(but("b", refusal)) as server:
        office = catalog("a", "b")
        run(tmp_path, office, DirectGenerator(server.settings()))
    said = "tool_id, generator, model, prompt_tokens, cached_tokens, completion_tokens, round(cost_usd, 8), run_id"
    paid = (1_000, 400, 200, COST, 1)
    assert ledger_rows(tmp_path, f"SELECT {said}, record_hash, prompt_version FROM expansions ORDER BY tool_id") == [
        ("a", "openai", "gpt-5-mini", *paid, office.hashes["a"], PROMPT_VERSION),
    ]
    assert ledger_rows(tmp_path, f"SELECT {said}, record_hash, kind, message FROM failures") == [
        ("b", "openai", "gpt-5-mini", *paid, office.hashes["b"], "refusal", "I will not. ?")
    ]
    phrases = ledger_rows(tmp_path, "SELECT tool_id, generator, phrase FROM phrases WHERE generator = 'openai'")
    assert phrases == [("a", "openai", "please do a")]


def test_a_model_without_price_leaves_the_cost_unknown_and_odd_texts_come_back_as_they_were_written(
    tmp_path: Path,
) -> None:
    said = {"when_to_use": "w " * 400, "user_phrases": ["p" * 199 + " q", "顧客 \u2028 \x00"], "synonyms": ["a"] * 30}
    with ModelServer(lambda *_: Reply(completion(json.dumps(said)))) as server:
        first, second = (run(tmp_path, catalog("a"), DirectGenerator(server.settings(model="l"))) for _ in range(2))
    assert first.usage == TokenUsage(1_000, 400, 200, None)
    assert ledger_rows(tmp_path, "SELECT prompt_tokens, cost_usd FROM expansions") == [(1_000, None)]
    assert second.reused == 1 and second.written == first.written
