"""Fill a ledger from the snapshots of its workspace: what they hold is neither paid for nor embedded again.

The `catalog.duckdb` of a snapshot has the answers about its tools as the ledger had them (`ledger_answers`), vectors by
the hash of their text, and the builds. Only questions, the texts that models wrote and open batches stand nowhere else.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import pyarrow as pa

from pipeline.ledger.opening import LedgerDamaged, explained
from pipeline.ledger.schema import create_vectors, quoted, transaction
from pipeline.ledger.stored_snapshots import stored_snapshots
from pipeline.sentences import counted
from pipeline.store.deltas.databases import database_file
from router.contract import RECORDS
from router.errors import SnapshotInvalid
from router.fingerprint import canonical_json
from router.record import ToolRecord

_DIMENSIONS = re.compile(r"FLOAT\[(\d+)\]")
_VECTORS = ("vectors", "ledger_vectors")
# A snapshot of a version without `ledger_answers` has answers as the checks left them.
_SCREENED = """
    SELECT expansion_key, record_hash, words.tool_id, generator, model, json_object(
            'when_to_use', when_to_use, 'user_phrases', user_phrases, 'synonyms', synonyms,
            'related_concepts', related_concepts, 'task_categories', task_categories, 'translations', translations
        ) AS expansion, prompt_tokens, cached_tokens, completion_tokens, cost_usd, words.run_id,
        written_at AS created_at
    FROM source.expansions words JOIN source.tools USING (tool_id)
    WHERE len(user_phrases) > 0
        AND NOT EXISTS (SELECT 1 FROM expansions known WHERE known.expansion_key = words.expansion_key)
"""
_BUILDS = """
    INSERT INTO runs (run_id, catalog, started_at, finished_at, outcome, snapshot, message, area, counts)
    SELECT run_id, (SELECT catalog FROM source.snapshot), started_at, coalesce(finished_at, started_at),
        -- It was still to publish the file when it wrote it.
        CASE WHEN outcome <> 'running' THEN outcome WHEN len(own.held) > 0 THEN 'held'
            WHEN own.run_id IS NOT NULL THEN 'published' ELSE 'killed' END,
        build.snapshot, message, area,
        json_object('tools', tools, 'asked', asked, 'embedded', embedded,
            'estimate', json_object('cost_usd', estimated_usd))
    FROM source.builds build LEFT JOIN (SELECT run_id, held FROM source.snapshot) own USING (run_id)
    WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.run_id = build.run_id)
"""
# A copy of the ledger has runs as they stood when it was made.
_OUTCOMES = """
    UPDATE runs SET outcome = CASE WHEN len(held) > 0 THEN 'held' ELSE 'published' END, snapshot = own.snapshot
    FROM source.snapshot own
    WHERE own.run_id = runs.run_id AND own.catalog = runs.catalog AND outcome IN ('running', 'killed')
"""
_RECORDS = """
    INSERT INTO records (record_hash, tool_id, catalog, record, first_run)
    SELECT record_hash, tool_id, (SELECT catalog FROM source.snapshot), record,
        coalesce((SELECT max(run_id) FROM source.history seen
            WHERE seen.tool_id = arrow_records.tool_id AND event IN ('first seen', 'changed')), 0)
    FROM arrow_records JOIN source.tools USING (tool_id)
    WHERE NOT EXISTS (SELECT 1 FROM records known WHERE known.record_hash = tools.record_hash
        AND known.tool_id = arrow_records.tool_id AND known.catalog = (SELECT catalog FROM source.snapshot))
"""


@dataclass(frozen=True, slots=True)
class FromSnapshots:
    """What snapshots gave to a ledger: how many answers, vectors, records and runs.

    `snapshots` were read, newest first; `unreadable` were not. `screened` counts the answers that are there only as the
    checks left them.
    """

    snapshots: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    answers: int = 0
    screened: int = 0
    vectors: int = 0
    records: int = 0
    runs: int = 0

    def __str__(self) -> str:
        return (
            f"{counted(len(self.snapshots), 'snapshot')} ({counted(self.answers, 'answer')}, "
            f"{counted(self.vectors, 'vector')}, {counted(self.runs, 'run')})"
        )


def restore_from_snapshots(connection: "duckdb.DuckDBPyConnection", workspace: Path) -> FromSnapshots:
    """Add to a ledger what the snapshots have and it lacks. What it has stays.

    Each snapshot is taken whole or not at all.
    """
    restored = FromSnapshots()
    for folder in stored_snapshots(workspace):
        name = f"{folder.parent.name}/{folder.name}"
        try:
            with _attached(connection, _database(folder)):
                added = _add(connection, folder)
        except _Unreadable:
            restored = replace(restored, unreadable=(*restored.unreadable, name))
            continue
        restored = replace(
            restored,
            snapshots=(*restored.snapshots, name),
            **{field: getattr(restored, field) + count for field, count in added.items()},
        )
    return restored


def _database(folder: Path) -> Path:
    """Return the path of a snapshot's database, restored where it is stored as a delta. Raises _Unreadable."""
    try:
        return database_file(folder)
    except (SnapshotInvalid, OSError) as error:
        raise _Unreadable(str(error)) from error


class _Unreadable(Exception):
    """A snapshot whose database cannot be opened or read."""


@contextmanager
def _attached(connection: "duckdb.DuckDBPyConnection", database: Path) -> Iterator[None]:
    """Attach a snapshot's database as `source`, for one transaction of the ledger.

    Raises _Unreadable; RunAborted where disk or memory do not suffice, which is no fault of the snapshot.
    """
    try:
        connection.execute(f"ATTACH {quoted(str(database))} AS source (READ_ONLY)")
    except duckdb.Error as error:
        raise _Unreadable(str(error)) from error
    try:
        with transaction(connection):
            yield
    except duckdb.Error as error:
        ours = explained(error, database)
        raise (_Unreadable(str(error)) if isinstance(ours, LedgerDamaged) else ours) from error
    except (OSError, ValueError, KeyError) as error:
        raise _Unreadable(str(error)) from error
    finally:
        connection.execute("DETACH source")


def _add(connection: "duckdb.DuckDBPyConnection", folder: Path) -> dict[str, int]:
    """Add one attached snapshot, and return how many rows of each kind were new."""
    listed = _rows(connection, "SELECT table_name FROM duckdb_tables() WHERE database_name = 'source'")
    tables = {name for (name,) in listed}
    connection.execute(_OUTCOMES)
    added = {"runs": _changed(connection, _BUILDS), "screened": 0}
    if "ledger_answers" in tables:
        added["answers"] = _insert_shared(connection, "expansions", _unknown("expansions", "kind IS NULL"))
        _insert_shared(connection, "failures", _unknown("failures", "kind IS NOT NULL"))
    else:
        added["answers"] = added["screened"] = _insert_shared(connection, "expansions", _SCREENED)
    added["vectors"] = sum(_add_vectors(connection, table) for table in _VECTORS if table in tables)
    added["records"] = _add_records(connection, folder)
    return added


def _unknown(table: str, kind: str) -> str:
    return f"""
        SELECT * FROM source.ledger_answers answer WHERE {kind} AND NOT EXISTS (
            SELECT 1 FROM {table} known WHERE known.expansion_key = answer.expansion_key
            AND known.run_id = answer.run_id AND known.created_at = answer.created_at)
    """


def _insert_shared(connection: "duckdb.DuckDBPyConnection", table: str, rows: str) -> int:
    """Insert rows by name into the columns that the table and the rows share."""
    own = {name for (name, *_) in _rows(connection, f"DESCRIBE {table}")}
    given = [name for (name, *_) in _rows(connection, f"DESCRIBE {rows}") if name in own]
    names = ", ".join(given)
    return _changed(connection, f"INSERT INTO {table} ({names}) SELECT {names} FROM ({rows})")


def _add_vectors(connection: "duckdb.DuckDBPyConnection", table: str) -> int:
    ((kind,),) = _rows(
        connection,
        "SELECT data_type FROM duckdb_columns() WHERE database_name = 'source' AND column_name = 'vector' "
        f"AND table_name = '{table}'",
    )
    found = _DIMENSIONS.fullmatch(kind)
    if found is None or not _rows(connection, f"SELECT 1 FROM source.{table} LIMIT 1"):
        return 0
    own = create_vectors(connection, int(found[1]))
    return _changed(
        connection,
        f"INSERT INTO {own} SELECT text_hash, model_key, any_value(vector) FROM source.{table} given "
        f"WHERE NOT EXISTS (SELECT 1 FROM {own} known WHERE known.text_hash = given.text_hash "
        "AND known.model_key = given.model_key) GROUP BY text_hash, model_key",
    )


def _add_records(connection: "duckdb.DuckDBPyConnection", folder: Path) -> int:
    records = list(_records(folder / RECORDS))
    rows = pa.table(
        {
            "tool_id": pa.array([record.tool_id for record in records], pa.string()),
            "record": pa.array([canonical_json(record.to_json()) for record in records], pa.string()),
        }
    )
    connection.register("arrow_records", rows)
    try:
        return _changed(connection, _RECORDS)
    finally:
        connection.unregister("arrow_records")


def _records(path: Path) -> Iterator[ToolRecord]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield ToolRecord.from_json({**row, **row["record"]})  # outputs, links and operation stand beside the record


def _rows(connection: "duckdb.DuckDBPyConnection", statement: str) -> list[tuple[str, ...]]:
    return connection.execute(statement).fetchall()


def _changed(connection: "duckdb.DuckDBPyConnection", statement: str) -> int:
    return int(connection.execute(statement).fetchall()[0][0])
