"""Phrases in other languages, from the file of expansions to the database and the router."""

from pathlib import Path

import pytest

from pipeline.inspection import Inspection
from router import Router
from tests.pipeline.inspection.conftest import Shop, tool, words

_TOOLS = (tool("pay/list", "Lists charges."), tool("pay/refund", "Returns money."))
_EXPANSIONS = [
    {**words("pay/list", "show the bills"), "translations": {"de": ["offene Rechnungen", "Zahlungen zeigen"]}},
    {**words("pay/refund", "money back"), "translations": {"de": ["Geld zurückgeben"], "es": ["devolver el dinero"]}},
]
_GERMAN = {"languages": ["de"]}


@pytest.fixture
def snapshot(shop: Shop) -> Path:
    return shop.build(*_TOOLS, expansions=_EXPANSIONS, enrichment=_GERMAN)


def test_phrases_are_stored_with_their_language_after_the_english_ones(snapshot: Path) -> None:
    with Inspection.open(snapshot) as inspection:
        assert inspection.table("phrases").rows == (
            ("pay/list", 0, "show the bills", "en"),
            ("pay/list", 1, "offene Rechnungen", "de"),
            ("pay/list", 2, "Zahlungen zeigen", "de"),
            ("pay/refund", 0, "money back", "en"),
            ("pay/refund", 1, "Geld zurückgeben", "de"),
        )


def test_an_expansion_keeps_all_that_was_written_the_languages_not_asked_for_too(snapshot: Path) -> None:
    with Inspection.open(snapshot) as inspection:
        written = inspection.tool("pay/refund").expansion
    assert written is not None
    assert written["translations"] == {"de": ["Geld zurückgeben"], "es": ["devolver el dinero"]}


def test_a_german_request_finds_the_tool_of_its_german_phrase(snapshot: Path) -> None:
    router = Router.open(snapshot)
    assert router.manifest.languages == ("en", "de")
    assert router.route("Wo ist die Rechnung?").ids == ("pay/list",)
    assert len(router.route("dinero")) == 0  # Spanish was not asked for


def test_another_language_is_another_snapshot_and_asks_nobody_again(shop: Shop, snapshot: Path) -> None:
    assert shop.build(*_TOOLS, expansions=_EXPANSIONS, enrichment=_GERMAN) == snapshot
    spanish = shop.build(*_TOOLS, expansions=_EXPANSIONS, enrichment={"languages": ["de", "es"]})
    assert Router.open(spanish).route("dinero").ids == ("pay/refund",)


def test_a_changed_translation_is_a_changed_expansion(shop: Shop, snapshot: Path) -> None:
    changed = {**_EXPANSIONS[0], "translations": {"de": ["Belege"]}}
    with Inspection.open(shop.build(*_TOOLS, expansions=[changed, _EXPANSIONS[1]], enrichment=_GERMAN)) as inspection:
        assert inspection.table("changes").rows == (
            ("pay/list", "changed", ["expansion"], ["Belege"], ["offene Rechnungen", "Zahlungen zeigen"]),
        )


def test_the_nearest_phrase_is_one_with_a_vector(shop: Shop, encoder_folder: Path) -> None:
    vectors = {"encoder": str(encoder_folder)}
    snapshot = shop.build(*_TOOLS, expansions=_EXPANSIONS, enrichment=_GERMAN, vectors=vectors)
    (first, second) = Router.open(snapshot).route("offene Rechnungen", explain=True)
    assert {first.phrase, second.phrase} == {"show the bills", "money back"}
    with Inspection.open(snapshot) as inspection:
        said = "SELECT tool_id, position FROM vectors WHERE position IS NOT NULL"
        assert inspection.sql(said).rows == (("pay/list", 0), ("pay/refund", 0))
        neighbours = inspection.sql("SELECT phrase, other_phrase FROM phrase_neighbours('pay/list')")
        assert neighbours.rows == (("show the bills", "money back"),)
