"""The versions of the ledger's tables: each migration runs once, in order, whole or not at all."""

from pathlib import Path

import duckdb
import pytest

from pipeline.errors import RunAborted
from pipeline.ledger import LEDGER_FILE, Ledger, migrations
from pipeline.ledger.migrations import MIGRATIONS, Migration, file_version
from tests.pipeline.ledger.ledgers import keys

NEXT = MIGRATIONS[-1].number + 1


@pytest.fixture
def grown(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """After the ledger was written, add two migrations, SQL and a function; return what the function saw."""
    seen: list[str] = []

    def shout(connection: duckdb.DuckDBPyConnection) -> None:
        seen.extend(note for (note,) in connection.execute("SELECT DISTINCT note FROM expansions").fetchall())

    more = (
        Migration(NEXT, "Add a note to answers.", "ALTER TABLE expansions ADD COLUMN note VARCHAR DEFAULT 'none'"),
        Migration(NEXT + 1, "Read the notes.", shout),
    )
    _know(monkeypatch, (*MIGRATIONS, *more))
    return seen


def _know(monkeypatch: pytest.MonkeyPatch, known: tuple[Migration, ...]) -> None:
    monkeypatch.setattr("pipeline.ledger.schema.MIGRATIONS", known)
    monkeypatch.setattr(migrations, "MIGRATIONS", known)
    monkeypatch.setattr("pipeline.ledger.schema.pending", lambda c, path: migrations.pending(c, path, known))


def _version(file: Path) -> int:
    with duckdb.connect(str(file), read_only=True) as connection:
        return file_version(connection)


def test_migrations_are_numbered_without_a_gap() -> None:
    assert [migration.number for migration in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))


def test_each_migration_runs_once_in_order_after_a_copy(workspace: Path, grown: list[str]) -> None:
    for _ in range(2):
        with Ledger.open(workspace):
            pass
    assert grown == ["none"]
    assert _version(workspace / LEDGER_FILE) == NEXT + 1
    (copy,) = (workspace / "backups").iterdir()
    assert (copy.name, _version(copy), keys(copy)) == (
        f"ledger-before-migration-{NEXT + 1}.duckdb",
        NEXT - 1,
        ["a", "b"],
    )


def test_a_migration_that_fails_changes_nothing_and_loses_nothing(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adds = Migration(NEXT, "Add a column.", "ALTER TABLE expansions ADD COLUMN note VARCHAR")
    fails = Migration(NEXT + 1, "Fail.", "SELECT * FROM no_such_table")
    _know(monkeypatch, (*MIGRATIONS, adds, fails))
    with pytest.raises(RunAborted, match="no_such_table"):
        Ledger.open(workspace)
    assert (_version(workspace / LEDGER_FILE), keys(workspace)) == (NEXT - 1, ["a", "b"])


def test_a_ledger_of_a_newer_version_is_refused_and_stays_as_it_is(workspace: Path) -> None:
    with duckdb.connect(str(workspace / LEDGER_FILE)) as connection:
        connection.execute(f"INSERT INTO migrations VALUES ({NEXT}, 'Of tomorrow.', now()::TIMESTAMP)")
    content = (workspace / LEDGER_FILE).read_bytes()
    with pytest.raises(RunAborted, match=rf"newer version of Quartermaster .*version {NEXT}.*install that version"):
        Ledger.open(workspace)
    assert (workspace / LEDGER_FILE).read_bytes() == content
