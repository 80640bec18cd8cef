"""The questions that a snapshot answers by itself, in any DuckDB client."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from pipeline.inspection import Inspection
from router import Router
from router.contract import FORMAT_VERSION, Manifest
from router.snapshot.snapshot import Snapshot
from tests.pipeline.inspection.conftest import Shop, tool, words
from tests.support.places import ROOT

_THIN = {
    "a/none": ("", 0),
    "a/one": ("Refunds.", 1),
    "a/five": ("Refunds a customer's charge, in-full.", 5),
    "b/japanese": ("顧客情報", 4),
}
_FULL = {
    "a/six": "Returns a list of past charges.",
    "b/chinese": "查询客户信息",
    "c/hindi": "ग्राहक की जानकारी को जल्दी से खोजें",
}


@pytest.fixture
def ask(snapshot: Path) -> Iterator[Any]:
    """Asks the session's snapshot, as any client would."""
    with duckdb.connect(str(snapshot / "catalog.duckdb"), read_only=True) as connection:
        yield lambda *arguments: connection.execute(*arguments).fetchall()


def test_every_table_view_macro_and_column_has_a_comment(ask: Any, snapshot: Path) -> None:
    views = "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal"
    assert len(ask(views)) == 14 and all(comment for _, comment in ask(views))
    assert ask("SELECT table_name FROM duckdb_tables() WHERE NOT internal AND comment IS NULL") == []
    macros = "SELECT function_name, comment FROM duckdb_functions() WHERE NOT internal"
    assert {name for name, comment in ask(macros) if comment} == {"neighbours", "phrase_neighbours"}
    assert ask("SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal AND comment IS NULL") == []
    with Inspection.open(snapshot) as inspection:
        assert [table.name for table in inspection.tables() if not table.comment] == []


def test_thin_is_a_description_of_fewer_than_six_words_in_any_script(shop: Shop) -> None:
    thin = [tool(tool_id, description) for tool_id, (description, _) in _THIN.items()]
    snapshot = shop.build(*thin, *(tool(tool_id, description) for tool_id, description in _FULL.items()))
    with Inspection.open(snapshot) as inspection:
        found = inspection.table("thin_descriptions")
        assert dict(zip(found.column("tool_id"), found.column("words"), strict=True)) == {
            tool_id: count for tool_id, (_, count) in _THIN.items()
        }
        assert list(found.column("words")) == sorted(found.column("words"))
        said = "SELECT provider, tools, thin FROM providers"
        assert inspection.sql(said).rows == (("a", 4, 3), ("b", 2, 1), ("c", 1, 0))


def test_tools_in_another_language_are_listed_with_their_english_phrases(shop: Shop) -> None:
    tools = [tool(tool_id, description) for tool_id, description in _FULL.items()]
    snapshot = shop.build(*tools, expansions=[words("b/chinese", "find a client", "查找客户")])
    assert Manifest.read(snapshot).counts["unread"] == 2
    with Inspection.open(snapshot) as inspection:
        found = inspection.table("unread_descriptions").only("tool_id", "english_phrases")
        assert found.rows == (("c/hindi", 0), ("b/chinese", 1))
        assert inspection.sql("SELECT tool_id FROM tools WHERE NOT unread").rows == (("a/six",),)
    marks = Snapshot.open(snapshot).unread
    assert marks is not None and marks.tolist() == [False, True, True]


def test_providers_count_phrases_and_writers_and_tools_without_a_provider(shop: Shop) -> None:
    expansions = [words("pay/list", "one", "two", "three"), words("lone", "four")]
    with Inspection.open(shop.build(tool("pay/list"), tool("pay/void"), tool("lone"), expansions=expansions)) as shown:
        said = "SELECT provider, tools, phrases_a_tool, written_by, failed FROM providers"
        assert shown.sql(said).rows == (("pay", 2, 1.5, "file 1, nobody 1", 0), (None, 1, 1.0, "file 1", 0))


def worst(snapshot: Path) -> dict[Any, str]:
    with Inspection.open(snapshot) as inspection:
        found = inspection.table("worst_tools")
        return dict(zip(found.column("tool_id"), found.column("problems"), strict=True))


def test_no_tool_of_a_catalog_stands_out_for_what_all_of_them_share(shop: Shop) -> None:
    tools = [tool(f"a/{name}", "Short.") for name in "stuvwxyz"]
    assert worst(shop.build(*tools)) == {}  # nobody wrote for any of them
    assert worst(shop.build(*tools, enrichment={"generator": "lexicon"})) == {}
    assert worst(shop.build(*tools, expansions=[words(f"a/{name}") for name in "stuvwxyz"])) == {}


def test_tools_without_the_words_that_most_have_are_the_worst(shop: Shop) -> None:
    tools = [tool(f"a/{name}", "Short." if name == "z" else "Sends a message to the team.") for name in "stuvwxyz"]
    written = [words(f"a/{name}", f"phrase of {name}") for name in "stuvwx"]
    assert worst(shop.build(*tools, expansions=written)) == {
        "a/y": "no expansion",
        "a/z": "no expansion, thin description",
    }
    by_lexicon = shop.build(*tools, expansions=written, enrichment={"generator": "lexicon"})
    assert worst(by_lexicon) == {"a/y": "only the lexicon's words", "a/z": "only the lexicon's words, thin description"}
    assert list(worst(by_lexicon)) == ["a/z", "a/y"]  # most problems first


def test_a_thin_description_stands_out_where_few_tools_have_one_and_no_model_filled_it_up(shop: Shop) -> None:
    full = [tool(f"a/{name}", "Sends a long message to the team.") for name in "vwxyz"]
    lexicon = {"generator": "lexicon"}
    assert worst(shop.build(*full, tool("a/u", "Pays."), enrichment=lexicon)) == {"a/u": "thin description"}
    assert worst(shop.build(*full[:3], tool("a/u", "Pays."), tool("a/t", "Buys."), enrichment=lexicon)) == {}
    phrases = [words(f"a/{name}") for name in "uvwxyz"]
    assert worst(shop.build(*full, tool("a/u", "Pays."), expansions=phrases)) == {}


def test_a_tool_that_lost_half_of_its_phrases_to_the_checks_is_among_the_worst(shop: Shop) -> None:
    tools = [tool(f"a/{name}", f"Sends message {name} to the team.") for name in "vwxyz"]
    told = [words(f"a/{name}", f"send {name} to the team", f"write {name} down") for name in "vwxy"]
    bad = words("a/z", "see https://evil.example now", "read <b>this</b> aloud", "send it to the team")
    assert worst(shop.build(*tools, expansions=[*told, bad])) == {"a/z": "2 of 3 phrases dropped"}


def test_duplicates_say_the_same_under_different_ids(shop: Shop) -> None:
    schema = {"type": "object", "properties": {"day": {"type": "string"}}}
    alike = [tool(tool_id, "Returns charges.") for tool_id in ("a/list", "b/list", "c/fetch")]
    others = [tool("a/day", "Returns charges.", parameters=schema), tool("a/empty", ""), tool("b/empty", "")]
    with Inspection.open(shop.build(*alike, *others)) as inspection:
        assert inspection.table("duplicates").rows == ((3, ["a/list", "b/list", "c/fetch"], "Returns charges."),)


def test_a_phrase_that_several_tools_have_is_shared_case_aside(shop: Shop) -> None:
    expansions = [words("a/x", "Undo IT", "mine"), words("a/y", "undo it"), words("b/z", "UNDO it", "yours")]
    with Inspection.open(shop.build(tool("a/x"), tool("a/y"), tool("b/z"), expansions=expansions)) as inspection:
        assert inspection.table("shared_phrases").rows == (("undo it", 3, ["a/x", "a/y", "b/z"]),)
        assert inspection.tool("a/x").phrases.rows == (("Undo IT", ["a/y", "b/z"]), ("mine", None))


def test_neighbours_are_by_exact_cosine_of_the_document_vectors(ask: Any) -> None:
    ids = [tool_id for (tool_id,) in ask("SELECT tool_id FROM tools ORDER BY ordinal")]
    documents = "SELECT vector FROM vectors JOIN tools USING (tool_id) WHERE position IS NULL ORDER BY ordinal"
    vectors = np.array([vector for (vector,) in ask(documents)])
    cosines = vectors @ vectors[2] / np.linalg.norm(vectors, axis=1) / np.linalg.norm(vectors[2])
    found = ask("FROM neighbours(?)", [ids[2]])
    # The small encoder's vectors lie so close that the last digit of a float decides their order.
    assert {tool_id: cosine for _, tool_id, cosine in found} == {
        tool_id: pytest.approx(cosine, abs=1e-6)
        for tool_id, cosine in zip(ids, cosines, strict=True)
        if tool_id != ids[2]
    }
    assert found == sorted(found, key=lambda row: (-row[2], row[1]))
    assert [rank for rank, *_ in found] == [1, 2, 3, 4, 5, 6, 7]
    assert ask("FROM neighbours(?, k := 2)", [ids[2]]) == found[:2]
    assert ask("FROM neighbours('no/tool')") == []


def test_neighbours_that_are_as_near_are_in_the_order_of_their_ids() -> None:
    views = (ROOT / "pipeline/inspection/vectors.sql").read_text(encoding="utf-8")
    macro = views[views.index("CREATE MACRO neighbours") : views.index("COMMENT ON MACRO TABLE neighbours")]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE vectors (tool_id VARCHAR, position INTEGER, vector FLOAT[2])")
        connection.execute("INSERT INTO vectors VALUES ('d', NULL, [0, 1]), ('c', NULL, [1, 0]), ('b', NULL, [0, 2])")
        connection.execute("INSERT INTO vectors VALUES ('a', NULL, [1, 1]), ('a', 0, [1, 0])")
        connection.execute(macro)
        found = connection.execute("FROM neighbours('c')").fetchall()
    assert found == [(1, "a", pytest.approx(0.5**0.5)), (2, "b", 0.0), (3, "d", 0.0)]


def test_phrase_neighbours_pair_each_other_tool_by_its_nearest_phrase(ask: Any) -> None:
    ids = [tool_id for (tool_id,) in ask("SELECT tool_id FROM tools ORDER BY ordinal")]
    phrases = "SELECT vector FROM vectors WHERE tool_id = ? AND position IS NOT NULL"
    vectors = [np.array([vector for (vector,) in ask(phrases, [tool_id])]) for tool_id in ids]
    best = {ids[at]: (vectors[0] @ vectors[at].T).max() for at in range(1, 8)}
    found = ask("SELECT rank, tool_id, cosine FROM phrase_neighbours(?)", [ids[0]])
    assert {tool_id: cosine for _, tool_id, cosine in found} == {
        tool_id: pytest.approx(cosine, abs=1e-6) for tool_id, cosine in best.items()
    }
    assert found == sorted(found, key=lambda row: (-row[2], row[1]))
    ((phrase, other, other_phrase),) = ask(
        "SELECT phrase, tool_id, other_phrase FROM phrase_neighbours(?, k := 1)", [ids[0]]
    )
    held = "SELECT count(*) FROM phrases WHERE (tool_id, phrase) IN ((?, ?), (?, ?))"
    assert ask(held, [ids[0], phrase, other, other_phrase]) == [(2,)]


def test_tool_and_phrase_vectors_are_arrays_that_can_be_compared(ask: Any) -> None:
    ((name, length),) = ask("SELECT typeof(vector), len(vector) FROM tool_vectors LIMIT 1")
    assert name == f"FLOAT[{length}]"
    nearest = """
        SELECT other.tool_id, array_cosine_similarity(other.vector, own.vector) AS cosine
        FROM tool_vectors own, tool_vectors other
        WHERE own.tool_id = 'stripe/create_refund' AND other.tool_id <> own.tool_id ORDER BY cosine DESC, other.tool_id
    """
    assert [tool_id for tool_id, _ in ask(nearest)] == [
        tool_id for _, tool_id, _ in ask("FROM neighbours('stripe/create_refund')")
    ]
    assert ask("SELECT count(*), count(DISTINCT (tool_id, phrase)) FROM phrase_vectors") == ask(
        "SELECT count(*), count(*) FROM phrases WHERE language = 'en'"
    )


def test_schemas_and_annotations_are_json(ask: Any) -> None:
    assert ask("SELECT typeof(input_schema), typeof(annotations) FROM tools LIMIT 1") == [("JSON", "JSON")]
    found = ask("SELECT input_schema->>'$.properties.charge.type' FROM tools WHERE tool_id = 'stripe/create_refund'")
    assert found == [("string",)]


def test_a_collision_names_the_phrase_and_the_tool_that_it_fits_as_well(ask: Any) -> None:
    said = "SELECT tool_id, text, detail FROM verdicts WHERE check_name = 'collision' ORDER BY ALL"
    assert ask("SELECT tool_id, phrase, other_id FROM collisions ORDER BY ALL") == ask(said)


def test_without_an_encoder_there_are_no_vectors_and_no_neighbours(shop: Shop) -> None:
    snapshot = shop.build(tool("a/x"), tool("a/y"), expansions=[words("a/x"), words("a/y")])
    with duckdb.connect(str(snapshot / "catalog.duckdb"), read_only=True) as connection:
        for source in ("vectors", "tool_vectors", "phrase_vectors", "neighbours('a/x')", "phrase_neighbours('a/x')"):
            assert connection.execute(f"FROM {source}").fetchall() == []
        assert connection.execute("SELECT encoder FROM snapshot").fetchall() == [(None,)]


def test_the_oldest_duckdb_that_is_allowed_can_read_the_file(snapshot: Path) -> None:
    header = (snapshot / "catalog.duckdb").read_bytes()[:20]
    assert (header[8:12], int.from_bytes(header[12:20], "little")) == (b"DUCK", 66)  # the format of 1.3


def test_the_snapshot_says_what_it_is(ask: Any, snapshot: Path) -> None:
    manifest = Router.open(snapshot).manifest
    said = (
        "SELECT snapshot, catalog, strftime(built_at, '%Y-%m-%dT%H:%M:%S+00:00'), encoder, recipe, format FROM snapshot"
    )
    assert manifest.encoder is not None
    expected = (manifest.snapshot, "office", manifest.created_at, manifest.encoder.model, "default", FORMAT_VERSION)
    assert ask(said) == [expected]
