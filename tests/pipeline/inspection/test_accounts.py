"""What the ledger knows, in the snapshot: costs, failures, builds, history; and from a phrase to its question."""

import json
from typing import Any

import duckdb
import pytest

from pipeline.enrichment.prompt import INSTRUCTIONS, PROMPT_VERSION
from pipeline.errors import RunAborted
from tests.pipeline.enrichment.model_server import COST, ModelServer, Reply, answer, but, completion
from tests.pipeline.inspection.conftest import Shop, tool, words
from tests.support.rows import select

_BROKEN = Reply(completion("broken"))
_PAID = pytest.approx(COST)
_TWICE = pytest.approx(2 * COST)  # a broken answer is asked for twice


def test_costs_are_known_to_later_builds_and_summed(shop: Shop) -> None:
    tools = [tool("pay/list"), tool("pay/refund"), tool("pay/void"), tool("chat/post")]
    with ModelServer() as server:
        shop.build(*tools, expansions=[words("pay/void")], server=server)
        later = shop.build(*tools, expansions=[words("pay/void")], server=server, force=True)
        assert sorted(server.asked) == ["list", "post", "refund"]
    said = "generator, model, prompt_tokens, cached_tokens, completion_tokens, cost_usd, expansions.run_id"
    written = f"SELECT {said}, written_at < built_at + INTERVAL 1 SECOND FROM expansions, snapshot"
    assert select(later, f"{written} WHERE tool_id = 'pay/list'") == [
        ("openai", "gpt-5-mini", 1_000, 400, 200, _PAID, 1, True)
    ]
    priced = "SELECT provider, generator, tools, prompt_tokens, cached_tokens, completion_tokens, cost_usd, unpriced"
    assert select(later, f"{priced} FROM costs") == [
        ("pay", "openai", 2, 2_000, 800, 400, _TWICE, 0),
        ("chat", "openai", 1, 1_000, 400, 200, _PAID, 0),
        ("pay", "file", 1, 0, 0, 0, 0.0, 0),
    ]
    assert select(later, "SELECT provider, tools, written_by, cost_usd, unpriced FROM providers") == [
        ("pay", 3, "openai 2, file 1", _TWICE, 0),
        ("chat", 1, "openai 1", _PAID, 0),
    ]


def test_a_failure_stands_until_the_model_answers_and_every_build_and_tool_tells_what_it_cost(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = "SELECT tool_id, generator, model, kind, completion_tokens, cost_usd, run_id, words_by FROM failures"
    lost = ("chat/post", "openai", "gpt-5-mini", "shape", 400, _TWICE)
    tools = (tool("chat/post", "Sends."), tool("pay/list"))
    with ModelServer(but("post", _BROKEN)) as server:
        assert select(shop.build(*tools, server=server), failures) == [(*lost, 1, None)]
        again = shop.build(*tools, server=server, force=True)
        assert select(again, failures) == [(*lost, 2, None)]  # run 1's is out of date
        with monkeypatch.context() as patch, pytest.raises(RunAborted, match="No space left"):
            patch.setattr("pipeline.build.writing.write_snapshot", _full_disk)
            shop.build(*tools, tool("pay/refund"), server=server)
        server.script = answer
        schema = {"type": "object", "properties": {"day": {"type": "string"}}}
        changed = tool("chat/post", "Sends a message.", parameters=schema, deprecated=True)
        last = shop.build(changed, tool("pay/list"), server=server)
    assert select(last, failures) == []
    assert select(last, "SELECT run_id, outcome, asked, cost_usd FROM builds") == [
        (1, "published", {"openai": 2}, pytest.approx(3 * COST)),
        (2, "published", {"openai": 1}, _TWICE),
        (3, "failed", {"openai": 1}, _PAID),  # paid, though no snapshot came of it; chat/post waits for another build
        (4, "running", {"openai": 1}, _PAID),
    ]
    said = "run_id, night <= today(), provider, generator, answers, failures, prompt_tokens, cost_usd, unpriced"
    assert select(last, f"SELECT {said} FROM costs_by_build WHERE run_id <> 3") == [
        (4, True, "chat", "openai", 1, 0, 1_000, _PAID, 0),
        (2, True, "chat", "openai", 0, 1, 2_000, _TWICE, 0),
        (1, True, "chat", "openai", 0, 1, 2_000, _TWICE, 0),
        (1, True, "pay", "openai", 1, 0, 1_000, _PAID, 0),
    ]
    history = "SELECT run_id, event, detail FROM history WHERE tool_id = 'chat/post' AND detail IS DISTINCT FROM"
    broken = "openai gpt-5-mini: shape: the answer holds no JSON object, 2,000 + 400 tokens, $0.001120"
    assert select(last, f"{history} ''") == [
        (1, "first seen", None),
        (1, "expansion failed", broken),
        (2, "expansion failed", broken),
        (4, "changed", "description, schema, deprecated"),
        (4, "expansion written", "openai gpt-5-mini, 1,000 + 200 tokens, $0.000560"),
    ]


def _full_disk(*_: object) -> None:
    raise OSError(28, "No space left on device")


_STORY = "I would rather tell you a story."


def asked(shop: Shop, statement: str) -> list[tuple[Any, ...]]:
    """Ask the newest snapshot, with the ledger attached as the page on inspecting shows it."""
    snapshots = sorted((shop.workspace / "snapshots" / "shop").glob("*/catalog.duckdb"))
    with duckdb.connect(str(snapshots[-1]), read_only=True) as connection:
        connection.execute(f"ATTACH '{shop.workspace / 'ledger.duckdb'}' AS ledger (READ_ONLY)")
        return connection.execute(statement).fetchall()


def test_a_phrase_leads_to_its_question_and_answer_and_a_failure_keeps_what_the_model_wrote(shop: Shop) -> None:
    with ModelServer(but("list", Reply(completion(_STORY)))) as server:
        shop.build(tool("pay/list"), tool("pay/refund"), server=server)  # the failed question is asked again
        messages = [[message["content"] for message in request.body["messages"]] for request in server.requests]
    ((question, instructions, parameters, written, cost, version),) = asked(
        shop,
        "SELECT question, instructions, parameters, completion, cost_usd, prompt_version FROM phrase_sources "
        "JOIN ledger.answers USING (expansion_key) WHERE phrase = 'please do refund'",
    )
    assert [instructions, question] in messages
    assert (instructions, version) == (INSTRUCTIONS, PROMPT_VERSION)
    assert json.loads(written)["user_phrases"] == ["please do refund"]
    assert (json.loads(parameters), cost) == ({}, pytest.approx(COST))
    failed = "SELECT DISTINCT kind, completion, question IS NOT NULL FROM ledger.answers WHERE kind IS NOT NULL"
    assert asked(shop, failed) == [("shape", _STORY, True)]
    counts = "SELECT (SELECT count(*) FROM ledger.questions), (SELECT count(*) FROM ledger.instructions)"
    assert asked(shop, counts) == [(2, 1)], "each is stored once"


def test_each_phrase_has_the_part_of_the_answer_that_it_stands_in(shop: Shop) -> None:
    line = {**words("pay/list", "show bills"), "when_to_use": "To see bills.", "translations": {"de": ["Rechnungen"]}}
    shop.build(tool("pay/list"), expansions=[line], enrichment={"languages": ["de"]})
    assert asked(shop, "SELECT phrase, field, language, generator FROM phrase_sources") == [
        ("show bills", "user_phrases", "en", "file"),
        ("To see bills.", "when_to_use", "en", "file"),
        ("Rechnungen", "translations", "de", "file"),
    ]
    no_model = (
        "SELECT DISTINCT question, completion, kind FROM phrase_sources JOIN ledger.answers USING (expansion_key)"
    )
    assert asked(shop, no_model) == [(None, None, None)]
