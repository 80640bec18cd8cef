"""A ledger that an earlier version wrote: all that was paid for is there, and new columns are added beside it."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline.ledger import LEDGER_FILE, Ledger, LedgerEntry, LedgerQuestion
from pipeline.ledger.commands import check
from pipeline.ledger.migrations import MIGRATIONS

# The tables with answers as the first versions wrote them, with a row each.
_OLD = """
CREATE SEQUENCE run_ids;
CREATE TABLE runs (
    run_id BIGINT PRIMARY KEY, catalog VARCHAR, started_at TIMESTAMP, finished_at TIMESTAMP,
    outcome VARCHAR, snapshot VARCHAR, message VARCHAR, counts JSON);
INSERT INTO runs VALUES (nextval('run_ids'), 'shop', now()::TIMESTAMP, NULL, 'running', NULL, NULL, NULL);
CREATE TABLE expansions (
    expansion_key VARCHAR, record_hash VARCHAR, tool_id VARCHAR, generator VARCHAR, model VARCHAR,
    prompt_version INTEGER, expansion JSON, prompt_tokens BIGINT, cached_tokens BIGINT, completion_tokens BIGINT,
    cost_usd DOUBLE, run_id BIGINT, created_at TIMESTAMP);
INSERT INTO expansions VALUES ('k', 'h', 'pay/list', 'openai', 'gpt', 1, '{"user_phrases":["show bills"]}', 10, 4, 2,
    0.5, 1, now()::TIMESTAMP);
CREATE TABLE failures (
    expansion_key VARCHAR, record_hash VARCHAR, tool_id VARCHAR, generator VARCHAR, model VARCHAR,
    kind VARCHAR, message VARCHAR, prompt_tokens BIGINT, cached_tokens BIGINT, completion_tokens BIGINT,
    cost_usd DOUBLE, run_id BIGINT, created_at TIMESTAMP);
CREATE TABLE vectors_2 (text_hash VARCHAR, model_key VARCHAR, vector FLOAT[2]);
INSERT INTO vectors_2 VALUES ('a', 'm', [1, 2]);
CREATE VIEW phrases AS SELECT tool_id FROM expansions;
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / LEDGER_FILE)) as connection:
        connection.execute(_OLD)
    return tmp_path


def rows(workspace: Path, statement: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(workspace / LEDGER_FILE), read_only=True) as connection:
        return connection.execute(statement).fetchall()


def test_answers_of_an_old_ledger_are_not_paid_for_again_and_new_ones_stand_beside_them(workspace: Path) -> None:
    entry = LedgerEntry("n", "h", "pay/list", "openai", "gpt", 2, 1, 0, 1, 0.1, {"user_phrases": ["x"]}, completion="{")
    with Ledger.open(workspace) as ledger:
        assert ledger.answers.expansions(["k"]) == {"k": {"user_phrases": ["show bills"]}}
        assert ledger.vectors.vectors(["a"], "m", 2).tolist() == [[1.0, 2.0]]
        assert ledger.history.runs("shop")["cost_usd"].to_pylist() == [0.5]
        assert ledger.start_run("shop") == 2
        ledger.answers.put_questions(2, [LedgerQuestion("n", 2, "Write.", "pay/list?", {})])
        ledger.answers.put_entries(2, [entry])
    said = "SELECT expansion_key, question, instructions, completion, cost_usd FROM answers ORDER BY run_id"
    assert rows(workspace, said) == [("k", None, None, None, 0.5), ("n", "pay/list?", "Write.", "{", 0.1)]


def test_an_old_ledger_is_copied_before_it_is_brought_up_to_date_once_and_keeps_its_columns(workspace: Path) -> None:
    columns = (
        "SELECT table_name, column_name, data_type FROM duckdb_columns() "
        "WHERE NOT internal AND table_name <> 'phrases' ORDER BY table_name, column_index"
    )
    assert (check(workspace).problems, check(workspace).version) == ((), 0)
    before, content = rows(workspace, columns), rows(workspace, "FROM expansions")
    with Ledger.open(workspace):
        pass
    assert check(workspace).version == MIGRATIONS[-1].number
    (copy,) = (workspace / "backups").iterdir()
    assert check(workspace, copy).version == 0
    with duckdb.connect(str(copy), read_only=True) as connection:
        assert connection.execute("FROM expansions").fetchall() == content
    after = rows(workspace, columns)
    assert [column for column in after if column in before] == before
    assert {name for table, name, _ in after if table in ("runs", "expansions", "failures")} - {
        name for _, name, _ in before
    } == {"area", "completion"}
    written = (workspace / LEDGER_FILE).read_bytes()
    with Ledger.open(workspace):
        pass
    assert (workspace / LEDGER_FILE).read_bytes() == written


@pytest.mark.parametrize("old", [False, True], ids=["new", "old"])
def test_every_table_view_and_column_has_a_comment(old: bool, workspace: Path, tmp_path: Path) -> None:
    place = workspace if old else tmp_path / "new"
    with Ledger.open(place) as ledger:
        ledger.vectors.known(["a"], "m", 2)
    listed = [
        f"SELECT {kind}_name FROM duckdb_{kind}s() WHERE NOT internal AND comment IS NULL" for kind in ("table", "view")
    ]
    columns = "SELECT table_name || '.' || column_name FROM duckdb_columns() WHERE NOT internal AND comment IS NULL"
    assert rows(place, " UNION ALL ".join([*listed, columns])) == []
