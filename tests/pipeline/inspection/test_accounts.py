"""What the ledger knows, in the snapshot: costs, failures, builds, history."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline.errors import RunAborted
from tests.pipeline.enrichment.model_server import COST, ModelServer, Reply, answer, but, completion
from tests.pipeline.inspection.conftest import Shop, tool, words

_BROKEN = Reply(completion("broken"))


def rows(snapshot: Path, statement: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(snapshot / "catalog.duckdb"), read_only=True) as connection:
        return connection.execute(statement).fetchall()


def test_an_answers_cost_is_known_to_builds_that_did_not_pay_for_it(shop: Shop) -> None:
    with ModelServer() as server:
        shop.build(tool("pay/list"), server=server)
        snapshot = shop.build(tool("pay/list"), server=server, force=True)
        assert server.asked == ["list"]
    said = "generator, model, prompt_tokens, cached_tokens, completion_tokens, cost_usd, expansions.run_id"
    assert rows(snapshot, f"SELECT {said}, written_at < built_at + INTERVAL 1 SECOND FROM expansions, snapshot") == [
        ("openai", "gpt-5-mini", 1_000, 400, 200, pytest.approx(COST), 1, True)
    ]


def test_costs_are_summed_by_provider_and_writer_and_what_has_no_price_is_counted(shop: Shop) -> None:
    tools = [tool("pay/list"), tool("pay/refund"), tool("pay/void"), tool("chat/post")]
    with ModelServer() as server:
        snapshot = shop.build(*tools, expansions=[words("pay/void")], server=server)
        unpriced = shop.build(*tools, expansions=[words("pay/void")], server=server, enrichment={"model": "llama3"})
    priced = "SELECT provider, generator, tools, prompt_tokens, cached_tokens, completion_tokens, cost_usd, unpriced"
    assert rows(snapshot, f"{priced} FROM costs") == [
        ("pay", "openai", 2, 2_000, 800, 400, pytest.approx(2 * COST), 0),
        ("chat", "openai", 1, 1_000, 400, 200, pytest.approx(COST), 0),
        ("pay", "file", 1, 0, 0, 0, 0.0, 0),
    ]
    assert rows(unpriced, "SELECT provider, model, tools, cost_usd, unpriced FROM costs") == [
        ("pay", "expansions.jsonl", 1, 0.0, 0),
        ("chat", "llama3", 1, None, 1),
        ("pay", "llama3", 2, None, 2),
    ]
    assert rows(unpriced, "SELECT provider, tools, written_by, cost_usd, unpriced FROM providers") == [
        ("pay", 3, "openai 2, file 1", 0.0, 2),
        ("chat", 1, "openai 1", None, 1),
    ]


def test_a_snapshot_knows_what_its_own_build_cost_and_what_each_build_before_it_did(shop: Shop) -> None:
    with ModelServer(but("post", _BROKEN)) as server:
        shop.build(tool("pay/list"), tool("chat/post"), server=server)
        snapshot = shop.build(tool("pay/list"), tool("pay/refund"), expansions=[words("pay/refund")], server=server)
        assert rows(snapshot, "SELECT run_id, tools, asked, cost_usd FROM builds") == [
            (1, 2, {"openai": 2, "lexicon": 1}, pytest.approx(3 * COST)),  # the broken answer was asked for twice
            (2, 2, {"file": 1}, 0.0),
        ]
        last = shop.build(tool("pay/list"), tool("pay/void"), server=server)
    assert rows(last, "SELECT outcome, asked, cost_usd FROM builds ORDER BY run_id DESC LIMIT 1") == [
        ("running", {"openai": 1}, pytest.approx(COST))
    ]
    said = "run_id, night <= today(), provider, generator, answers, failures, prompt_tokens, cost_usd, unpriced"
    assert rows(last, f"SELECT {said} FROM costs_by_build") == [
        (3, True, "pay", "openai", 1, 0, 1_000, pytest.approx(COST), 0),
        (2, True, "pay", "file", 1, 0, 0, 0.0, 0),
        (1, True, "chat", "openai", 0, 1, 2_000, pytest.approx(2 * COST), 0),
        (1, True, "pay", "openai", 1, 0, 1_000, pytest.approx(COST), 0),
        (1, True, "chat", "lexicon", 1, 0, 0, 0.0, 0),
    ]


def test_a_build_that_failed_after_it_paid_is_known_with_its_cost(shop: Shop) -> None:
    with ModelServer() as server:
        shop.build(tool("pay/list"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("pipeline.build.writing.write_snapshot", _full_disk)
            with pytest.raises(RunAborted, match="No space left"):
                shop.build(tool("pay/list"), tool("pay/refund"), server=server)
        last = shop.build(tool("pay/list"), force=True)
    assert rows(last, "SELECT outcome, tools, asked, cost_usd FROM builds WHERE run_id = 2") == [
        ("failed", 2, {"openai": 2}, pytest.approx(2 * COST))
    ]


def _full_disk(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_failure_stands_until_the_model_has_answered(shop: Shop) -> None:
    said = "SELECT tool_id, generator, model, kind, completion_tokens, cost_usd, run_id, words_by FROM failures"
    lost = ("chat/post", "openai", "gpt-5-mini", "shape", 400, pytest.approx(2 * COST))  # asked twice
    tools = (tool("chat/post"), tool("pay/list"))
    with ModelServer(but("post", _BROKEN)) as server:
        assert rows(shop.build(*tools, server=server), said) == [(*lost, 1, "lexicon")]
        again = shop.build(*tools, server=server, force=True)
        assert rows(again, said) == [(*lost, 2, "lexicon")]  # run 1's is out of date
        without = shop.build(*tools, enrichment={"generator": "lexicon"})
        assert rows(without, said) == [(*lost, 2, "lexicon")]  # the model was not asked
        nobody = shop.build(*tools)
        assert rows(nobody, said) == [(*lost, 2, None)]
        server.script = answer
        assert rows(shop.build(*tools, server=server), said) == []


def test_a_line_of_the_file_that_failed_is_this_builds_alone(shop: Shop) -> None:
    bad = {"id": "pay/list", "user_phrases": "of the wrong shape"}
    failed = shop.build(tool("pay/list"), expansions=[bad], enrichment={"generator": "lexicon"})
    assert rows(failed, "SELECT generator, kind, message, words_by FROM failures") == [
        ("file", "shape", "user_phrases is not a list of texts", "lexicon")
    ]
    mended = shop.build(tool("pay/list"), enrichment={"generator": "lexicon"}, force=True)
    assert rows(mended, "FROM failures") == []


def test_builds_are_all_builds_of_the_catalog_and_the_last_is_under_way(shop: Shop) -> None:
    first = shop.build(tool("pay/list"), expansions=[words("pay/list")])
    shop.build(tool("pay/list"), expansions=[words("pay/list")])
    with pytest.raises(RunAborted):
        shop.build()
    measured = shop.build(tool("pay/list"), area="evaluations")
    last = shop.build(tool("pay/list"), tool("pay/refund"))
    said = "run_id, area, outcome, snapshot, finished_at >= started_at, tools, asked, embedded, cost_usd"
    assert rows(last, f"SELECT {said} FROM builds") == [
        (1, "snapshots", "published", first.name, True, 1, {"file": 1}, 0, 0.0),
        (2, "snapshots", "unchanged", first.name, True, 1, {}, 0, 0.0),
        (3, "snapshots", "failed", None, True, None, None, None, 0.0),
        (4, "evaluations", "published", measured.name, True, 1, {}, 0, 0.0),
        (5, "snapshots", "running", last.name, None, 2, {}, 0, 0.0),
    ]
    assert rows(last, "SELECT message FROM builds WHERE message IS NOT NULL") == [("the catalog 'shop' holds no tool",)]


def test_the_history_of_a_tool_that_failed_and_changed(shop: Shop) -> None:
    schema = {"type": "object", "properties": {"day": {"type": "string"}}}
    with ModelServer(but("post", _BROKEN)) as server:
        shop.build(tool("chat/post", "Sends."), tool("pay/list"), server=server)
        server.script = answer
        changed = tool("chat/post", "Sends a message.", parameters=schema, deprecated=True)
        snapshot = shop.build(changed, tool("pay/list"), server=server)
    lexicon = rows(snapshot, "SELECT DISTINCT detail FROM history WHERE detail LIKE 'lexicon %'")
    said = "SELECT run_id, event, detail FROM history WHERE tool_id = 'chat/post'"
    assert rows(snapshot, said) == [
        (1, "first seen", None),
        (
            1,
            "expansion failed",
            "openai gpt-5-mini: shape: the answer holds no JSON object, 2,000 + 400 tokens, $0.001120",
        ),
        (1, "expansion written", *lexicon[0]),
        (2, "changed", "description, schema, deprecated"),
        (2, "expansion written", "openai gpt-5-mini, 1,000 + 200 tokens, $0.000560"),
    ]
    events = rows(snapshot, "SELECT tool_id, event FROM history WHERE tool_id <> 'chat/post'")
    assert events == [("pay/list", "first seen"), ("pay/list", "expansion written")]


def test_the_history_tells_an_evaluation_from_what_is_to_serve(shop: Shop) -> None:
    shop.build(tool("pay/list"), area="evaluations")
    snapshot = shop.build(tool("pay/list"))
    assert rows(snapshot, "SELECT run_id, event, detail FROM history") == [
        (1, "first seen", "by a build of evaluations")
    ]


def test_a_ledger_without_areas_is_read_on(shop: Shop) -> None:
    shop.build(tool("pay/list"))
    with duckdb.connect(str(shop.workspace / "ledger.duckdb")) as ledger:
        ledger.execute("ALTER TABLE runs DROP COLUMN area; DROP TABLE migrations")
    snapshot = shop.build(tool("pay/list"), tool("pay/refund"))
    assert rows(snapshot, "SELECT run_id, area FROM builds") == [(1, None), (2, "snapshots")]
