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


def test_phrases_keep_their_language_and_another_language_or_translation_is_another_snapshot(shop: Shop) -> None:
    snapshot = shop.build(*_TOOLS, expansions=_EXPANSIONS, enrichment=_GERMAN)
    with Inspection.open(snapshot) as inspection:
        assert inspection.table("phrases").rows == (
            ("pay/list", 0, "show the bills", "en"),
            ("pay/list", 1, "offene Rechnungen", "de"),
            ("pay/list", 2, "Zahlungen zeigen", "de"),
            ("pay/refund", 0, "money back", "en"),
            ("pay/refund", 1, "Geld zurückgeben", "de"),
        )
        written = inspection.tool("pay/refund").expansion
    # All that was written is kept, the languages not asked for too.
    assert written is not None
    assert written["translations"] == {"de": ["Geld zurückgeben"], "es": ["devolver el dinero"]}
    router = Router.open(snapshot)
    assert router.manifest.languages == ("en", "de")
    assert router.route("Wo ist die Rechnung?").ids == ("pay/list",)
    assert len(router.route("dinero")) == 0  # Spanish was not asked for
    # A language more is another snapshot, though nobody wrote in it.
    assert shop.build(*_TOOLS, expansions=_EXPANSIONS, enrichment={"languages": ["de", "fr"]}) != snapshot
    changed = [{**_EXPANSIONS[0], "translations": {"de": ["Belege"]}}, _EXPANSIONS[1]]
    spanish = shop.build(*_TOOLS, expansions=changed, enrichment={"languages": ["de", "es"]})
    assert Router.open(spanish).route("dinero").ids == ("pay/refund",)
    with Inspection.open(spanish) as inspection:
        assert inspection.table("changes").rows == (
            ("pay/list", "changed", ["expansion"], ["Belege"], ["offene Rechnungen", "Zahlungen zeigen"]),
            ("pay/refund", "changed", ["expansion"], ["devolver el dinero"], []),
        )


@pytest.mark.nightly  # with an encoder
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
