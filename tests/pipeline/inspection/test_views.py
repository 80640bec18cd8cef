"""The questions that a snapshot answers by itself, in any DuckDB client."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from pipeline.inspection import Inspection
from pipeline.inspection.template import TEMPLATE, write_template
from router.contract import FORMAT_VERSION, Manifest
from router.snapshot.snapshot import Snapshot
from tests.pipeline.inspection.conftest import Shop, tool, words

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
    assert len(ask(views)) == 15 and all(comment for _, comment in ask(views))
    assert ask("SELECT table_name FROM duckdb_tables() WHERE NOT internal AND comment IS NULL") == []
    macros = "SELECT function_name, comment FROM duckdb_functions() WHERE NOT internal"
    assert {name for name, comment in ask(macros) if comment} == {"neighbours", "phrase_neighbours"}
    assert ask("SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal AND comment IS NULL") == []
    with Inspection.open(snapshot) as inspection:
        assert [table.name for table in inspection.tables() if not table.comment] == []


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of no tools, with the views as the statements make them."""
    path = tmp_path_factory.mktemp("empty") / "catalog.duckdb"
    write_template(path)
    return path


@pytest.fixture
def asked_of(empty: Path, tmp_path: Path) -> Iterator[Any]:
    """Asks the views of a database that holds these rows of `_Row` alone."""
    with duckdb.connect(str(shutil.copyfile(empty, tmp_path / "catalog.duckdb"))) as connection:

        def ask(statement: str, *rows: "_Row") -> list[tuple[Any, ...]]:
            for table in ("tools", "expansions", "phrases", "verdicts"):
                connection.execute(f"DELETE FROM {table}")
            for row in rows:
                schema = "{}" if row.plain else '{"type": "object"}'
                values = [row.tool_id, row.tool_id.rpartition("/")[0] or None, row.description, schema]
                into_tools = "INSERT INTO tools (tool_id, provider, description, input_schema) VALUES (?, ?, ?, ?)"
                connection.execute(into_tools, values)
                if row.writer:
                    into_expansions = "INSERT INTO expansions (tool_id, generator, cost_usd) VALUES (?, ?, ?)"
                    connection.execute(into_expansions, [row.tool_id, row.writer, row.cost_usd])
                for position, phrase in enumerate(row.phrases):
                    connection.execute(
                        "INSERT INTO phrases VALUES (?, ?, ?, 'en', NULL)", [row.tool_id, position, phrase]
                    )
                for check in row.dropped:
                    verdict = [row.tool_id, "user_phrases", check, check, "dropped", ""]
                    connection.execute("INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?)", verdict)
            return connection.execute(statement).fetchall()

        yield ask


@dataclass(frozen=True)
class _Row:
    """A tool and what was written for it."""

    tool_id: str
    description: str = "Sends a message to the whole team."
    writer: str = ""
    phrases: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    plain: bool = True
    cost_usd: float | None = None


def test_thin_is_a_description_of_fewer_than_six_words_in_any_script(asked_of: Any) -> None:
    rows = [_Row(tool_id, description) for tool_id, (description, _) in _THIN.items()]
    rows += [_Row(tool_id, description) for tool_id, description in _FULL.items()]
    found = asked_of("SELECT tool_id, words FROM thin_descriptions", *rows)
    assert dict(found) == {tool_id: count for tool_id, (_, count) in _THIN.items()}
    assert [count for _, count in found] == sorted(count for _, count in found)
    providers = asked_of("SELECT provider, tools, thin FROM providers", *rows)
    assert providers == [("a", 4, 3), ("b", 2, 1), ("c", 1, 0)]


def test_tools_in_another_language_sources_not_read_whole_and_a_catalog_without_vectors_are_told(shop: Shop) -> None:
    schema = {"type": "object", "properties": {"day": {"type": "string"}}}
    tools = [tool(tool_id, description) for tool_id, description in _FULL.items()]
    more = [
        tool("d/x", parameters=schema),
        tool("d/y", args="--day DAY"),
        tool("d/z", "", usage="at night"),
        {"name": 7},
    ]
    written = [words("b/chinese", "find a client", "查找客户")]
    snapshot = shop.build(*tools, *more, expansions=written, publish={"max_rejected_share": 1})
    assert Manifest.read(snapshot).counts["unread"] == 2
    marks = Snapshot.open(snapshot).non_english
    assert marks is not None and marks.tolist() == [False, True, True, False, False, False]
    with Inspection.open(snapshot) as inspection:
        found = inspection.table("unread_descriptions").only("tool_id", "english_phrases")
        assert found.rows == (("c/hindi", 0), ("b/chinese", 1))
        counts = "source, records, tools, described, with_parameters, lost_parameters, rejected"
        assert inspection.sql(f"SELECT {counts} FROM coverage").rows == (("tools.jsonl", 7, 6, 5, 1, 1, 1),)
        reasons = inspection.sql("SELECT reasons, shapes FROM coverage").rows
        assert reasons == (({"name is a number, not a text": 1}, {"parameters: JSON Schema": 1}),)
        assert inspection.sql("FROM unread_keys").rows == (
            ("tools.jsonl", "args", 1, "--day DAY"),
            ("tools.jsonl", "usage", 1, "at night"),
        )
        assert inspection.table("unread_sources").column("problem") == (
            "1 of 6 tools declare parameters under `args` that could not be read",
            "1 of 7 records were rejected: 1 because name is a number, not a text",
            "keys that were not read: usage (1: at night)",
        )
        for source in ("vectors", "tool_vectors", "phrase_vectors", "neighbours('d/x')", "phrase_neighbours('d/x')"):
            assert inspection.sql(f"FROM {source}").rows == ()
        assert inspection.sql("SELECT encoder FROM snapshot").rows == ((None,),)


def test_providers_and_costs_count_phrases_writers_and_dollars_which_are_not_nothing_where_none_is_known(
    asked_of: Any,
) -> None:
    rows = (
        _Row("pay/list", writer="openai", phrases=("a", "b", "c"), cost_usd=0.5),
        _Row("pay/refund", writer="openai", cost_usd=0.25),
        _Row("pay/void", writer="openai"),
        _Row("pay/lone"),
        _Row("lone", "", "openai", ("d",)),
    )
    said = "SELECT provider, tools, phrases_a_tool, written_by, failed, cost_usd, unpriced FROM providers"
    assert asked_of(said, *rows) == [
        ("pay", 4, 0.8, "openai 3, nobody 1", 0, 0.75, 1),
        (None, 1, 1.0, "openai 1", 0, None, 1),
    ]
    found = asked_of("SELECT provider, tools, cost_usd, unpriced FROM costs", *rows)
    assert found == [("pay", 3, 0.75, 1), (None, 1, None, 1)]


_EIGHT = [_Row(f"a/{name}", writer="file" if name < "y" else "", phrases=(name,)) for name in "stuvwxyz"]
_FIVE = [_Row(f"a/{name}") for name in "vwxyz"]
_TOLD = [_Row(f"a/{name}", writer="file", phrases=("send it", "write it")) for name in "vwxy"]


@pytest.mark.parametrize(
    ("rows", "worst"),
    [
        ([replace(row, writer="") for row in _EIGHT], []),
        ([replace(row, writer="", description="Short.") for row in _EIGHT], []),
        ([replace(row, writer="file", description="Short.") for row in _EIGHT], []),
        (
            [*_EIGHT[:7], replace(_EIGHT[7], description="Short.")],
            [("a/z", "no expansion, thin description"), ("a/y", "no expansion")],  # most problems first
        ),
        ([*_FIVE, _Row("a/u", "Pays.")], [("a/u", "thin description")]),
        ([*_FIVE[:3], _Row("a/u", "Pays."), _Row("a/t", "Buys.")], []),
        ([*_FIVE, _Row("a/u", "Pays.", "file")], []),
        (
            [*_TOLD, _Row("a/z", writer="file", phrases=("x",), dropped=("url", "markup"))],
            [("a/z", "2 of 3 phrases dropped")],
        ),
        ([*_TOLD, _Row("a/z", writer="file", phrases=("x",), dropped=("repeat", "repeat"))], []),
    ],
    ids=[
        "nobody wrote for any",
        "all are thin and nobody's",
        "all are thin and filled up",
        "two lack the words that most have",
        "one is thin",
        "two of five are thin",
        "a thin one is filled up",
        "half of its phrases dropped",
        "near-repeats dropped",
    ],
)
def test_the_worst_tools_are_those_that_stand_out_in_their_catalog(
    asked_of: Any, rows: list[_Row], worst: list[tuple[str, str]]
) -> None:
    assert asked_of("SELECT tool_id, problems FROM worst_tools", *rows) == worst


def test_duplicates_say_the_same_and_shared_phrases_are_of_several_tools_case_aside(asked_of: Any) -> None:
    alike = [_Row(tool_id, "Returns charges.") for tool_id in ("a/list", "b/list", "c/fetch")]
    others = [_Row("a/day", "Returns charges.", plain=False), _Row("a/empty", ""), _Row("b/empty", "")]
    found = asked_of("FROM duplicates", *alike, *others)
    assert found == [(3, ["a/list", "b/list", "c/fetch"], "Returns charges.")]
    sharing = {"a/x": ("Undo IT", "mine"), "a/y": ("undo it",), "b/z": ("UNDO it", "yours")}
    rows = [_Row(tool_id, phrases=phrases) for tool_id, phrases in sharing.items()]
    assert asked_of("FROM shared_phrases", *rows) == [("undo it", 3, ["a/x", "a/y", "b/z"])]


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


def test_phrase_neighbours_pair_each_other_tool_by_its_nearest_phrase(ask: Any) -> None:
    ids = [tool_id for (tool_id,) in ask("SELECT tool_id FROM tools ORDER BY ordinal")]
    phrases = "SELECT vector FROM vectors WHERE tool_id = ? AND position IS NOT NULL"
    vectors = [np.array([vector for (vector,) in ask(phrases, [tool_id])]) for tool_id in ids]
    best = {ids[at]: pytest.approx((vectors[0] @ vectors[at].T).max(), abs=1e-6) for at in range(1, 8)}
    found = ask("FROM phrase_neighbours(?)", [ids[0]])
    assert dict(ask("SELECT tool_id, cosine FROM phrase_neighbours(?)", [ids[0]])) == best
    assert ask("FROM phrase_neighbours(?, k := 1)", [ids[0]]) == found[:1]


def test_vectors_are_arrays_and_a_collision_names_the_phrase_and_the_tool_that_it_fits_as_well(ask: Any) -> None:
    ((name, length),) = ask("SELECT typeof(vector), len(vector) FROM tool_vectors LIMIT 1")
    assert name == f"FLOAT[{length}]" and ask("SELECT count(*) FROM tool_vectors") == [(8,)]
    assert ask("SELECT count(*), count(DISTINCT (tool_id, phrase)) FROM phrase_vectors") == ask(
        "SELECT count(*), count(*) FROM phrases WHERE language = 'en'"
    )
    said = "SELECT tool_id, text, detail FROM verdicts WHERE check_name = 'collision' ORDER BY ALL"
    assert ask("SELECT tool_id, phrase, other_id FROM collisions ORDER BY ALL") == ask(said)


def test_the_oldest_duckdb_can_read_the_file_which_says_what_it_is(ask: Any, snapshot: Path) -> None:
    header = (snapshot / "catalog.duckdb").read_bytes()[:20]
    assert (header[8:12], int.from_bytes(header[12:20], "little")) == (b"DUCK", 66)  # the format of 1.3
    manifest = Manifest.read(snapshot)
    time = "strftime(built_at, '%Y-%m-%dT%H:%M:%S+00:00')"
    assert manifest.encoder is not None
    expected = (manifest.snapshot, "office", manifest.created_at, manifest.encoder.model, "default", FORMAT_VERSION)
    assert ask(f"SELECT snapshot, catalog, {time}, encoder, recipe, format FROM snapshot") == [expected]


def test_what_was_left_out_is_told_and_what_was_only_noted_is_not(empty: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(shutil.copyfile(empty, tmp_path / "catalog.duckdb"))) as connection:
        connection.execute("""
            INSERT INTO verdicts VALUES
                ('a/send', 'user_phrases', 'ask Jira', 'provider', 'dropped', 'Jira'),
                ('a/send', 'user_phrases', 'write to Ann', 'collision', 'noted', 'b/send'),
                ('a/send', 'description', 'Call me first.', 'foreign', 'dropped', '')
        """)
        found = connection.execute("SELECT text, check_name, detail FROM left_out").fetchall()
    assert found == [("Call me first.", "foreign", ""), ("ask Jira", "provider", "Jira")]


_DESCRIBED = """
    SELECT 'table', table_name, sql, comment, estimated_size FROM duckdb_tables()
    UNION ALL SELECT 'view', view_name, sql, comment, 0 FROM duckdb_views() WHERE NOT internal
    UNION ALL SELECT 'macro', function_name, macro_definition, comment, 0 FROM duckdb_functions() WHERE NOT internal
    UNION ALL SELECT 'column', table_name || '.' || column_name, data_type, comment, 0 FROM duckdb_columns()
        WHERE NOT internal
    ORDER BY ALL
"""


def test_the_packaged_template_is_what_the_statements_make(empty: Path) -> None:
    made, packaged = (
        duckdb.connect(str(path), read_only=True).execute(_DESCRIBED).fetchall() for path in (empty, TEMPLATE)
    )
    assert len(made) > 250 and made == packaged, "write it anew: python -m pipeline.inspection.template"
