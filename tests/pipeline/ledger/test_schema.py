"""The versions of the ledger's tables: what is missing is added once, whole or not at all; old answers stay paid."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline.errors import RunAborted
from pipeline.ledger import LEDGER_FILE, Ledger
from pipeline.ledger.commands import check
from pipeline.ledger.ledger import VERSION, file_version
from tests.pipeline.ledger.ledgers import entry, keys

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
def old(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / LEDGER_FILE)) as connection:
        connection.execute(_OLD)
    return tmp_path


def rows(workspace: Path, statement: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(workspace / LEDGER_FILE), read_only=True) as connection:
        return connection.execute(statement).fetchall()


@pytest.fixture
def earlier(workspace: Path) -> Path:
    """A workspace whose ledger is of the version before the quarantine."""
    with duckdb.connect(str(workspace / LEDGER_FILE)) as connection:
        connection.execute(
            "DROP VIEW quarantined; DROP TABLE quarantine; DROP TABLE baselines; UPDATE migrations SET number = 2"
        )
        connection.execute("COMMENT ON SEQUENCE run_ids IS NULL")
    return workspace


def version(file: Path) -> int:
    with duckdb.connect(str(file), read_only=True) as connection:
        return file_version(connection)


def test_what_an_earlier_ledger_lacks_is_added_once_after_a_copy(earlier: Path) -> None:
    for _ in range(2):
        with Ledger.open(earlier) as ledger:
            assert ledger.quarantine.tools("office", "snapshots") == []
    assert (version(earlier / LEDGER_FILE), keys(earlier)) == (VERSION, ["a", "b"])
    (copy,) = (earlier / "backups").iterdir()
    assert (copy.name, version(copy), keys(copy)) == (f"ledger-before-migration-{VERSION}.duckdb", 2, ["a", "b"])


def test_an_addition_that_fails_changes_nothing_and_loses_nothing(earlier: Path) -> None:
    with duckdb.connect(str(earlier / LEDGER_FILE)) as connection:
        connection.execute("DROP VIEW answers; CREATE VIEW quarantine AS SELECT 1")
    with pytest.raises(RunAborted, match="cannot be opened"):
        Ledger.open(earlier)
    assert (version(earlier / LEDGER_FILE), keys(earlier)) == (2, ["a", "b"])
    assert ("answers",) not in rows(earlier, "SELECT view_name FROM duckdb_views()")


def test_a_ledger_of_a_newer_version_is_refused_and_stays_as_it_is(workspace: Path) -> None:
    with duckdb.connect(str(workspace / LEDGER_FILE)) as connection:
        connection.execute(f"INSERT INTO migrations VALUES ({VERSION + 1}, 'Of tomorrow.', now()::TIMESTAMP)")
    content = (workspace / LEDGER_FILE).read_bytes()
    with pytest.raises(RunAborted, match=rf"newer version .*version {VERSION + 1}.*install that version"):
        Ledger.open(workspace)
    assert (workspace / LEDGER_FILE).read_bytes() == content


def test_answers_of_an_old_ledger_are_not_paid_for_again_and_new_ones_stand_beside_them(old: Path) -> None:
    with Ledger.open(old) as ledger:
        assert ledger.answers.expansions(["k"]) == {"k": {"user_phrases": ["show bills"]}}
        assert ledger.vectors.vectors(["a"], "m", 2).tolist() == [[1.0, 2.0]]
        assert ledger.history.runs("shop")["cost_usd"].to_pylist() == [0.5]
        assert ledger.start_run("shop") == 2
        ledger.answers.put_questions(2, 2, [("n", "Write.", "pay/list?", {})])
        ledger.answers.put_entries(2, [entry("n", cost_usd=0.1, completion="{")])
    said = "SELECT expansion_key, question, instructions, completion, cost_usd FROM answers ORDER BY run_id"
    assert rows(old, said) == [("k", None, None, None, 0.5), ("n", "pay/list?", "Write.", "{", 0.1)]


def test_an_old_ledger_is_copied_before_it_is_brought_up_to_date_once_and_keeps_its_columns(old: Path) -> None:
    columns = (
        "SELECT table_name, column_name, data_type FROM duckdb_columns() "
        "WHERE NOT internal AND table_name <> 'phrases' ORDER BY table_name, column_index"
    )
    assert (check(old).problems, check(old).version) == ((), 0)
    before, content = rows(old, columns), rows(old, "FROM expansions")
    with Ledger.open(old):
        pass
    assert check(old).version == VERSION
    (copy,) = (old / "backups").iterdir()
    assert check(old, copy).version == 0
    with duckdb.connect(str(copy), read_only=True) as connection:
        assert connection.execute("FROM expansions").fetchall() == content
    after = rows(old, columns)
    assert [column for column in after if column in before] == before
    added = {name for table, name, _ in after if table in ("runs", "expansions", "failures")}
    new = {"area", "checks", "completion", "discarded_at", "refused_by"}
    assert added - {name for _, name, _ in before} == new
    written = (old / LEDGER_FILE).read_bytes()
    with Ledger.open(old):
        pass
    assert (old / LEDGER_FILE).read_bytes() == written


@pytest.mark.parametrize("is_old", [False, True], ids=["new", "old"])
def test_every_table_view_and_column_has_a_comment(is_old: bool, old: Path, tmp_path: Path) -> None:
    place = old if is_old else tmp_path / "new"
    with Ledger.open(place) as ledger:
        ledger.vectors.known(["a"], "m", 2)
    listed = " UNION ALL ".join(
        f"SELECT {name} FROM duckdb_{kind}s() WHERE NOT internal AND comment IS NULL"
        for kind, name in (("table", "table_name"), ("view", "view_name"), ("column", "table_name || column_name"))
    )
    assert rows(place, listed) == []
