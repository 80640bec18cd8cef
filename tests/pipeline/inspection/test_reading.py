"""Asking a snapshot: pages, tables and SQL, read-only, bounded, of untrusted text."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from pipeline.inspection import Inspection
from pipeline.inspection.served_tools import served_expansions, served_texts
from router import Router
from router.errors import SettingsInvalid, SnapshotInvalid
from tests.pipeline.inspection.conftest import Shop, tool, words
from tests.support.places import ROOT
from tests.support.publishing import sign_database

_HOSTILE = "'; DROP TABLE tools; --"
_LIGHT = "torch prefect openai sentence_transformers transformers pydantic pyarrow onnxruntime".split()


@pytest.fixture
def inspection(snapshot: Path) -> Iterator[Inspection]:
    with Inspection.open(snapshot) as opened:
        yield opened


def test_a_notebook_shows_rows_as_a_table_of_escaped_text(inspection: Inspection) -> None:
    shown = inspection.sql("SELECT '<b>x</b>' AS \"a&b\", NULL AS n FROM range(3)", limit=2)._repr_html_()
    row = "<tr><td>&lt;b&gt;x&lt;/b&gt;</td><td></td></tr>"
    assert shown == f"<table><tr><th>a&amp;b</th><th>n</th></tr>{row}{row}</table><p>and 1 more</p>"


def test_a_tools_page_holds_the_record_that_the_router_returns(inspection: Inspection, snapshot: Path) -> None:
    page = inspection.tool("stripe/create_refund")
    assert page.record == Router.open(snapshot).record("stripe/create_refund")
    assert page.documents["name"] == "create_refund\nstripe"
    assert page.documents["description"].splitlines()[0] == "Refunds a charge in full or in part."
    assert page.expansion is not None and page.expansion["user_phrases"][1] == "undo a payment"
    assert (page.expansion["generator"], page.expansion["cost_usd"], page.expansion["run_id"]) == ("file", 0.0, 1)
    assert page.phrases.column("phrase")[:2] == ("give the customer their money back", "undo a payment")
    assert len(page.neighbours) == 7 and "stripe/create_refund" not in page.neighbours.column("tool_id")
    assert page.history.column("event") == ("first seen", "expansion written")
    assert (len(page.failures), len(page.notices)) == (0, 0)
    answer = json.loads(json.dumps(page.to_json()))
    assert (answer["tool_id"], answer["parameters"][0]["path"]) == ("stripe/create_refund", "charge")
    assert answer["phrases"][0] == {"phrase": "give the customer their money back", "also_of": None}
    assert answer["expansion"]["written_at"].startswith("20")


@pytest.mark.parametrize(
    ("asked", "near"),
    [("stripe/creat_refund", "'stripe/create_refund'"), ("LIST_CHARGES", "'stripe/list_charges'"), ("zzz", "'zzz'")],
)
def test_a_tool_that_is_not_there_is_answered_with_near_ids(inspection: Inspection, asked: str, near: str) -> None:
    with pytest.raises(SettingsInvalid, match=rf"has no tool {asked!r}.*") as raised:
        inspection.tool(asked)
    assert near in str(raised.value)


def test_an_answer_is_bounded_says_how_much_it_left_out_and_keeps_repeated_columns_apart(
    inspection: Inspection,
) -> None:
    rows = inspection.table("tools", limit=3)
    assert (len(rows), rows.more) == (3, 5)
    assert inspection.table("tools", limit=8).more == 0
    assert inspection.sql("SELECT * FROM range(100_000)", limit=2).more == 99_998
    with pytest.raises(SettingsInvalid, match="the limit is 0"):
        inspection.table("tools", limit=0)
    rows = inspection.sql("SELECT 1 AS a, NULL AS b, 'nan'::DOUBLE AS a, DATE '2026-05-01' AS d")
    assert rows.columns == ("a", "b", "a", "d")
    assert rows.to_json()["rows"] == [{"a": 1, "b": None, "a:1": None, "d": "2026-05-01"}]


def test_tables_views_and_macros_are_listed_and_only_the_first_two_are_read_by_name(inspection: Inspection) -> None:
    listed = {table.name: (table.kind, table.rows) for table in inspection.tables()}
    assert listed["tools"] == ("table", 8) and listed["providers"] == ("view", 5)
    assert listed["neighbours"] == ("macro", None)
    wrong = {"nothing": "choose from builds, ", "neighbours": r"FROM neighbours\('TOOL'\)", _HOSTILE: "no table"}
    for name, sentence in wrong.items():
        with pytest.raises(SettingsInvalid, match=sentence):
            inspection.table(name)


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("SELEC 1", r"DuckDB refused the SQL: Parser Error: syntax error at or near .SELEC.$"),
        ("SELECT nme FROM tools", r"Referenced column .nme. not found .* Candidate bindings: "),
        ("SELECT tool_id::INT FROM tools", r"Could not convert string"),
        ("", "holds 0 statements: give one"),
        ("SELECT 1; SELECT 2", "holds 2 statements: give one"),
        ("SELECT ?", "parameters"),
    ],
)
def test_wrong_sql_is_a_sentence(inspection: Inspection, statement: str, sentence: str) -> None:
    with pytest.raises(SettingsInvalid, match=sentence) as raised:
        inspection.sql(statement)
    assert "\n" not in str(raised.value) and "LINE" not in str(raised.value)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO phrases VALUES ('x', 0, 'x')",
        "UPDATE tools SET name = 'x'",
        "DROP VIEW providers",
        "CREATE TABLE memory.x (i INTEGER)",
        "CREATE TEMP TABLE x (i INTEGER)",
        "COPY tools TO '{folder}/out.csv'",
        "EXPORT DATABASE '{folder}/out'",
        "ATTACH '{folder}/out.duckdb'",
        "SET enable_external_access = true",
        "EXPLAIN ANALYZE DELETE FROM tools",
        "LOAD httpfs",
        "BEGIN",
    ],
)
def test_nothing_can_be_written_or_set(inspection: Inspection, tmp_path: Path, statement: str) -> None:
    with pytest.raises(SettingsInvalid, match=r"a snapshot is read-only: give a SELECT, not [A-Z]+"):
        inspection.sql(statement.format(folder=tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "source", ["read_text('{file}')", "read_csv('{file}')", "glob('{file}')", "'{file}'", "parquet_scan('{file}')"]
)
def test_no_other_file_can_be_read(inspection: Inspection, tmp_path: Path, source: str) -> None:
    (tmp_path / "secret.csv").write_text("password", encoding="utf-8")
    with pytest.raises(SettingsInvalid, match="DuckDB refused the SQL") as raised:
        inspection.sql(f"SELECT * FROM {source.format(file=tmp_path / 'secret.csv')}")
    assert "password" not in str(raised.value)


def test_a_query_that_memory_cannot_hold_spills_nothing_to_disk(inspection: Inspection) -> None:
    assert inspection.sql("SELECT current_setting('temp_directory')").rows == (("",),)


def test_hostile_text_is_kept_as_it_is_and_executes_nothing(shop: Shop) -> None:
    text = f"[red]x[/] {_HOSTILE} \u001b[2J\u202e {{0}} %s"
    evil = tool(f"evil/{_HOSTILE}", text, examples=[text], parameters={"properties": {text: {"enum": [text]}}})
    evil["name"], evil["provider"] = _HOSTILE, text
    rows = [words(evil["id"], text)]
    shop.build(evil, tool("pay/list"), expansions=rows)
    snapshot = shop.build({**evil, "deprecated": True}, tool("pay/list"), expansions=rows)
    with Inspection.open(snapshot) as inspection:
        (tool_id,) = (name for name in inspection.table("tools").column("tool_id") if name != "pay/list")
        page = inspection.tool(tool_id)
        assert (page.record.provider, page.record.name, page.record.examples) == (text, _HOSTILE, (text,))
        assert inspection.table("changes").rows == ((tool_id, "changed", ["deprecated"], [], []),)
        assert page.history.column("event").count("changed") == 1
        assert all(table.rows is None or table.rows >= 0 for table in inspection.tables())
        assert text in inspection.table("providers").column("provider")
        with pytest.raises(SettingsInvalid) as raised:
            inspection.tool(f"{tool_id}\u001b[2J")
        assert "\u001b" not in str(raised.value)


def test_a_damaged_missing_or_older_database_is_an_invalid_snapshot(snapshot: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(snapshot, tmp_path / snapshot.name)
    database = folder / "catalog.duckdb"
    database.unlink()
    with pytest.raises(SnapshotInvalid, match=r"catalog\.duckdb cannot be opened"):
        Inspection.open(folder)
    database.write_bytes(b"damaged" * 1_000)
    sign_database(folder)
    with pytest.raises(SnapshotInvalid, match=r"catalog\.duckdb cannot be opened"):
        Inspection.open(folder)
    database.unlink()
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE TABLE tools (tool_id VARCHAR)")
    sign_database(folder)
    with pytest.raises(SnapshotInvalid, match="an older version wrote it; build the catalog again with --force"):
        Inspection.open(folder)
    with Inspection.open(snapshot) as inspection, pytest.raises(SnapshotInvalid, match="cannot be compared"):
        inspection.changes(folder)
    with duckdb.connect(str(database)) as connection:  # what a build reads of the snapshot that serves
        connection.execute("CREATE TABLE snapshot AS SELECT 1 AS run_id")
    sign_database(folder)
    for read in (served_texts, lambda folder: served_expansions(folder, ["a/b"])):
        with pytest.raises(SnapshotInvalid, match=r"catalog\.duckdb cannot be read: Catalog Error|Binder Error"):
            read(folder)


def test_a_database_that_is_not_the_manifest_s_is_read_by_nobody_though_duckdb_would(
    snapshot: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(snapshot, tmp_path / snapshot.name)
    database = folder / "catalog.duckdb"
    Inspection.open(folder).__exit__(None, None, None)
    database.chmod(0o644)
    with duckdb.connect(str(database)) as connection:
        connection.execute("UPDATE tools SET description = 'Another.'")
    with Router.open(folder) as router:  # which does not read it
        assert router.route("undo a payment", k=1).ids
    with pytest.raises(
        SnapshotInvalid, match=r"catalog\.duckdb is corrupt: its checksum is not the one in the manifest"
    ):
        Inspection.open(folder)
    with Inspection.open(snapshot) as inspection, pytest.raises(SnapshotInvalid, match=r"catalog\.duckdb is corrupt"):
        inspection.changes(folder)


@pytest.mark.nightly
def test_inspecting_needs_nothing_but_duckdb_and_the_router(snapshot: Path) -> None:
    code = f"""
import sys
sys.modules.update(dict.fromkeys({_LIGHT!r}))  # as if they were not installed
from pathlib import Path
from pipeline.inspection import Inspection
with Inspection.open(Path({str(snapshot)!r})) as inspection:
    print(len(inspection.tool("stripe/create_refund").neighbours), inspection.table("providers").more)
"""
    root = ROOT
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=root)
    assert (done.stdout, done.stderr) == ("7 0\n", "")
