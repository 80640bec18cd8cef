"""From a phrase of a snapshot to the question and the answer that wrote it, which the ledger has."""

import json
from typing import Any

import duckdb
import pytest

from pipeline.enrichment.prompt import INSTRUCTIONS, PROMPT_VERSION
from tests.pipeline.enrichment.model_server import COST, ModelServer, Reply, but, completion
from tests.pipeline.inspection.conftest import Shop, tool, words

_BROKEN = "I would rather tell you a story."


def asked(shop: Shop, statement: str) -> list[tuple[Any, ...]]:
    """Ask the newest snapshot, with the ledger attached as the page on inspecting shows it."""
    snapshots = sorted((shop.workspace / "snapshots" / "shop").glob("*/catalog.duckdb"))
    with duckdb.connect(str(snapshots[-1]), read_only=True) as connection:
        connection.execute(f"ATTACH '{shop.workspace / 'ledger.duckdb'}' AS ledger (READ_ONLY)")
        return connection.execute(statement).fetchall()


def test_a_phrase_leads_to_its_question_and_answer_and_a_failure_keeps_what_the_model_wrote(shop: Shop) -> None:
    with ModelServer(but("list", Reply(completion(_BROKEN)))) as server:
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
    assert asked(shop, failed) == [("shape", _BROKEN, True)]
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
