"""The ledger holds prompts and answers: its files are their owner's alone."""

from pathlib import Path

import pytest

from pipeline.ledger.file_copy import copy_file
from pipeline.ledger.opening import connect, log_of
from pipeline.ledger.private import keep_private
from pipeline.ledger.rewriting import copy_tables
from pipeline.ledger.schema import transaction


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_new_ledger_and_its_log_are_private_after_a_commit(tmp_path: Path) -> None:
    path = tmp_path / "ledger.duckdb"
    with connect(path) as connection:
        with transaction(connection):
            connection.execute("CREATE TABLE answers (answer TEXT)")
        assert (mode(path), mode(log_of(path))) == (0o600, 0o600)
        connection.execute("CHECKPOINT").fetchall()
        with transaction(connection):
            connection.execute("INSERT INTO answers VALUES ('secret')")
        assert mode(log_of(path)) == 0o600


@pytest.mark.parametrize(("before", "after"), [(0o666, 0o600), (0o400, 0o400), (0o640, 0o600)])
def test_a_stricter_mode_stays(tmp_path: Path, before: int, after: int) -> None:
    path = tmp_path / "ledger.duckdb"
    path.touch()
    path.chmod(before)
    keep_private(path)
    assert mode(path) == after


def test_copies_are_private(tmp_path: Path) -> None:
    path = tmp_path / "ledger.duckdb"
    with connect(path) as connection:
        connection.execute("CREATE TABLE answers (answer TEXT)").fetchall()
        copy_tables(connection, tmp_path / "rewritten.duckdb")
    path.chmod(0o644)
    connect(path).close()
    assert mode(path) == 0o600  # so does an older ledger that others could read
    path.chmod(0o644)
    copy_file(path, tmp_path / "copied.duckdb")
    assert [mode(tmp_path / f"{name}.duckdb") for name in ("rewritten", "copied")] == [0o600, 0o600]
