"""What the ledger knows, in the snapshot: costs, failures, builds, history; and from a phrase to its question."""

import json
from typing import Any

import duckdb
import pytest

from pipeline.enrichment.prompt import INSTRUCTIONS, PROMPT_VERSION
from pipeline.errors import RunAborted
from pipeline.failure import attached
from pipeline.ledger import Ledger
from pipeline.monitoring.run import MonitoredRun
from tests.pipeline.enrichment.model_server import COST, ModelServer, Reply, answer, but, completion, row
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
        with monkeypatch.context() as patch, pytest.raises(RunAborted, match="No space left") as stopped:
            patch.setattr("pipeline.build.writing.write_snapshot", _full_disk)
            shop.build(*tools, tool("pay/refund"), server=server)
        told = attached(stopped.value)  # to hook and metrics
        assert isinstance(told, MonitoredRun) and told.report.usage.cost_usd == _PAID
        server.script = answer
        schema = {"type": "object", "properties": {"day": {"type": "string"}}}
        changed = tool("chat/post", "Sends a message.", parameters=schema, deprecated=True)
        last = shop.build(changed, tool("pay/list"), server=server)
    assert select(last, failures) == []
    assert select(last, "SELECT run_id, outcome, asked, cost_usd FROM builds") == [
        (1, "published", {"openai": 2}, pytest.approx(3 * COST)),
        (2, "published", {"openai": 1}, _TWICE),
        (3, "failed", {"openai": 1}, _PAID),  # paid, though no snapshot came of it; chat/post waits for another build
        (4, "published", {"openai": 1}, _PAID),  # this one: no gate held it
    ]
    said = "run_id, provider, generator, answers, failures, prompt_tokens, cost_usd, unpriced"
    assert select(last, f"SELECT {said} FROM spending WHERE run_id <> 3") == [
        (1, "chat", "openai", 0, 1, 2_000, _TWICE, 0),
        (1, "pay", "openai", 1, 0, 1_000, _PAID, 0),
        (2, "chat", "openai", 0, 1, 2_000, _TWICE, 0),
        (4, "chat", "openai", 1, 0, 1_000, _PAID, 0),
    ]
    nights = "run_id, outcome, model, asked, failed, reused, completion_tokens, cost_usd"
    of_snapshot = select(last, f"SELECT {nights} FROM nights")
    assert of_snapshot == [
        (4, "published", "gpt-5-mini", 1, 0, 1, 200, _PAID),
        (3, "failed", "gpt-5-mini", 1, 0, 1, 200, _PAID),
        (2, "published", "gpt-5-mini", 1, 1, 1, 400, _TWICE),
        (1, "published", "gpt-5-mini", 2, 1, 0, 600, pytest.approx(3 * COST)),
    ]
    with Ledger.open(shop.workspace) as ledger:  # one definition: the ledger says the same
        of_ledger = [tuple(row[name] for name in nights.split(", ")) for row in ledger.history.nights("shop")]
    assert of_ledger == of_snapshot
    history = "SELECT run_id, event, detail FROM history WHERE tool_id = 'chat/post' AND detail IS DISTINCT FROM"
    broken = "openai gpt-5-mini: shape: the answer holds no JSON object, 2,000 + 400 tokens, $0.001120"
    assert select(last, f"{history} ''") == [
        (1, "first seen", None),
        (1, "expansion failed", broken),
        (2, "expansion failed", broken),
        (4, "changed", "description, schema, deprecated"),
        (4, "expansion written", "openai gpt-5-mini, 1,000 + 200 tokens, $0.000560"),
    ]


def test_a_snapshot_that_a_gate_held_says_so_of_the_build_that_wrote_it(shop: Shop) -> None:
    shop.build(*(tool(f"pay/{name}") for name in ("list", "refund", "void", "find", "send")))
    held = shop.build(tool("pay/list"))
    ((first, _), (last, message)) = select(held, "SELECT outcome, message FROM builds")
    assert (first, last) == ("published", "held") and "lost 4 of its 5 serving tools" in message


def test_an_answer_of_which_no_phrase_passes_is_refused_and_asked_for_again_by_the_next_build(shop: Shop) -> None:
    far_too_long = Reply(completion(json.dumps({**row("list"), "user_phrases": ["list all the bills " * 60]})))
    with ModelServer(but("list", far_too_long)) as server:
        for force in (False, True):
            last = shop.build(tool("pay/list"), tool("pay/refund"), server=server, force=force)
    assert select(last, "SELECT run_id, asked, reused, refused FROM nights") == [(2, 1, 1, 1), (1, 2, 0, 1)]


def test_an_answer_without_a_price_makes_the_cost_of_its_build_unknown(shop: Shop) -> None:
    with ModelServer() as server:
        model = {"model": "no-list-has-it"}
        snapshot = shop.build(tool("pay/list"), tool("pay/refund"), server=server, enrichment=model)
    unknown = [("no-list-has-it", 2, None)]
    assert select(snapshot, "SELECT model, asked, cost_usd FROM nights") == unknown
    with Ledger.open(shop.workspace) as ledger:
        assert ledger.history.cost(1) is None and ledger.history.nights("shop")[0]["cost_usd"] is None


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
