"""The ledger: the build's system of record, one DuckDB file in the workspace, one writer.

Answers are kept by the key of all that made them, vectors by the hash of their text and the key of their model, so a
second build of an unchanged catalog asks nothing and embeds nothing. Nothing that was paid for is ever deleted. Times
are UTC.
"""

import fcntl
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.errors import RecordRejected, RunAborted, SettingsInvalid
from pipeline.records import Catalog
from router.fingerprint import canonical_json

LEDGER_FILE = "ledger.duckdb"
# Nothing is fetched at run time, and SQL never picks up a Python variable by accident.
CONNECTION: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}

_SCHEMA = """
CREATE SEQUENCE IF NOT EXISTS run_ids;
CREATE TABLE IF NOT EXISTS runs (
    run_id BIGINT PRIMARY KEY, catalog VARCHAR, started_at TIMESTAMP, finished_at TIMESTAMP,
    outcome VARCHAR, snapshot VARCHAR, message VARCHAR, counts JSON);
ALTER TABLE runs ADD COLUMN IF NOT EXISTS area VARCHAR;
CREATE TABLE IF NOT EXISTS records (
    record_hash VARCHAR, tool_id VARCHAR, catalog VARCHAR, record JSON, first_run BIGINT);
CREATE TABLE IF NOT EXISTS rejections (
    run_id BIGINT, file VARCHAR, pointer VARCHAR, reason VARCHAR);
CREATE TABLE IF NOT EXISTS notices (
    run_id BIGINT, tool_id VARCHAR, kind VARCHAR, message VARCHAR, file VARCHAR, pointer VARCHAR);
CREATE TABLE IF NOT EXISTS expansions (
    expansion_key VARCHAR, record_hash VARCHAR, tool_id VARCHAR, generator VARCHAR, model VARCHAR,
    prompt_version INTEGER, expansion JSON, prompt_tokens BIGINT, cached_tokens BIGINT, completion_tokens BIGINT,
    cost_usd DOUBLE, run_id BIGINT, created_at TIMESTAMP);
CREATE TABLE IF NOT EXISTS failures (
    expansion_key VARCHAR, record_hash VARCHAR, tool_id VARCHAR, generator VARCHAR, model VARCHAR,
    kind VARCHAR, message VARCHAR, prompt_tokens BIGINT, cached_tokens BIGINT, completion_tokens BIGINT,
    cost_usd DOUBLE, run_id BIGINT, created_at TIMESTAMP);
CREATE OR REPLACE VIEW phrases AS
    SELECT tool_id, generator, model, unnest(from_json(expansion -> 'user_phrases', '["VARCHAR"]')) AS phrase
    FROM expansions;
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A generator's outcome for one tool: an `expansion` as JSON, or else the `kind` and `message` of its failure."""

    expansion_key: str
    record_hash: str
    tool_id: str
    generator: str
    model: str
    prompt_version: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost_usd: float | None
    expansion: Mapping[str, Any] | None = None
    kind: str = ""
    message: str = ""


class Ledger(AbstractContextManager["Ledger"]):
    """The open ledger. Every method commits before it returns."""

    # Types of DuckDB are quoted in annotations: a flow outlives its modules in Prefect's threads, and DuckDB reports
    # each of its types that is still held at exit, on the terminal.

    def __init__(self, connection: "duckdb.DuckDBPyConnection", lock: IO[str]) -> None:
        """Internal: use `open`."""
        self._connection = connection
        self._lock = lock

    @classmethod
    def open(cls, workspace: Path, wait_s: float = 0.0) -> "Ledger":
        """Open or create the ledger, once no other build holds it, for which it waits `wait_s` seconds at most.

        Raises SettingsInvalid for a workspace that cannot be written, RunAborted for a ledger that another build holds
        or that is no DuckDB file.
        """
        path = workspace / LEDGER_FILE
        try:
            workspace.mkdir(parents=True, exist_ok=True)
            lock = (workspace / ".lock").open("w", encoding="utf-8")
        except OSError as error:
            raise SettingsInvalid(
                f"the workspace {workspace} cannot be written ({error.strerror}): choose another with --workspace"
            ) from error
        until = time.monotonic() + wait_s
        # DuckDB keeps other processes out, not another build in this one.
        while not _locked(lock):
            if time.monotonic() >= until:
                lock.close()
                raise RunAborted(f"the ledger {path} is in use by another build: wait for it to end")
            time.sleep(0.2)
        try:
            connection = duckdb.connect(str(path), config=CONNECTION)
            connection.execute(_SCHEMA)
        except duckdb.Error as error:
            lock.close()
            if "could not set lock" in str(error).lower():  # "lock" alone is in "block" and in many a path
                raise RunAborted(
                    f"the ledger {path} is in use by another build: wait for it to end. {error}"
                ) from error
            raise RunAborted(f"the ledger {path} cannot be opened: {error}. Move it away to begin a new one") from error
        return cls(connection, lock)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        self._lock.close()

    def start_run(self, catalog: str, area: str = "snapshots") -> int:
        """Open a run and return its id; the area tells what is to serve from an experiment."""
        row = self._connection.execute(
            "INSERT INTO runs (run_id, catalog, started_at, outcome, area) "
            "VALUES (nextval('run_ids'), ?, ?, 'running', ?) RETURNING run_id",
            [catalog, _now(), area],
        ).fetchall()
        return int(row[0][0])

    def finish_run(
        self, run: int, outcome: str, *, snapshot: str | None, message: str, counts: Mapping[str, Any]
    ) -> None:
        """Close a run: outcome is "published", "unchanged", "held" or "failed"."""
        self._connection.execute(
            "UPDATE runs SET finished_at = ?, outcome = ?, snapshot = ?, message = ?, counts = ? WHERE run_id = ?",
            [_now(), outcome, snapshot, message, canonical_json(counts), run],
        )

    def put_catalog(self, run: int, name: str, catalog: Catalog, rejected: Sequence[RecordRejected]) -> None:
        """Keep the records not seen before, and what this run rejected or noticed."""
        self._insert(
            "records",
            {
                "record_hash": [catalog.hashes[r.tool_id] for r in catalog.records],
                "tool_id": [r.tool_id for r in catalog.records],
                "catalog": [name] * len(catalog.records),
                "record": [canonical_json(r.to_json()) for r in catalog.records],
                "first_run": [run] * len(catalog.records),
            },
            unless="t.record_hash = n.record_hash AND t.tool_id = n.tool_id AND t.catalog = n.catalog",
        )
        self._insert(
            "rejections",
            {
                "run_id": [run] * len(rejected),
                "file": [r.origin.file for r in rejected],
                "pointer": [r.origin.pointer for r in rejected],
                "reason": [r.reason for r in rejected],
            },
        )
        notices = catalog.notices
        self._insert(
            "notices",
            {
                "run_id": [run] * len(notices),
                "tool_id": [n.tool_id for n in notices],
                "kind": [n.kind for n in notices],
                "message": [n.message for n in notices],
                "file": [n.origin.file for n in notices],
                "pointer": [n.origin.pointer for n in notices],
            },
        )

    def expansions(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """The answers known for these keys, as JSON; the first that was given, where there are several."""
        wanted = pa.table({"key": pa.array(list(keys), pa.string())})
        with _registered(self._connection, wanted) as name:
            rows = self._connection.execute(
                f"SELECT expansion_key, expansion FROM expansions JOIN {name} ON key = expansion_key "
                "ORDER BY run_id DESC"
            ).fetchall()
        return {key: json.loads(text) for key, text in rows}

    def put_entries(self, run: int, entries: Sequence[Entry]) -> None:
        """Keep answers and failures; both say what they cost."""
        answers = [entry for entry in entries if entry.expansion is not None]
        failures = [entry for entry in entries if entry.expansion is None]
        self._insert(
            "expansions",
            {
                **self._entry_columns(run, answers),
                "prompt_version": [entry.prompt_version for entry in answers],
                "expansion": [canonical_json(entry.expansion) for entry in answers],
            },
        )
        self._insert(
            "failures",
            {
                **self._entry_columns(run, failures),
                "kind": [entry.kind for entry in failures],
                # A server may send half of a surrogate pair, which cannot be stored.
                "message": [entry.message.encode("utf-8", "replace").decode("utf-8") for entry in failures],
            },
        )

    @staticmethod
    def _entry_columns(run: int, entries: Sequence[Entry]) -> dict[str, list[Any]]:
        shared = (
            "expansion_key record_hash tool_id generator model prompt_tokens cached_tokens completion_tokens cost_usd"
        ).split()
        now = _now()
        return {
            **{column: [getattr(entry, column) for entry in entries] for column in shared},
            "run_id": [run] * len(entries),
            "created_at": [now] * len(entries),
        }

    def runs(self, catalog: str) -> pa.Table:
        """Every run of a catalog, in order, with its counts as columns; NULL where it ended before it counted."""
        return self._connection.sql(
            """
            SELECT run_id, area, started_at, finished_at, outcome, snapshot, message,
                CAST(counts ->> 'tools' AS BIGINT) AS tools,
                CAST(counts -> 'asked' AS MAP(VARCHAR, BIGINT)) AS asked,
                CAST(counts ->> 'embedded' AS BIGINT) AS embedded,
                CAST(counts ->> 'cost_usd' AS DOUBLE) AS cost_usd
            FROM runs WHERE catalog = ? ORDER BY run_id
            """,
            params=[catalog],
        ).to_arrow_table()

    def versions(self, catalog: str, tool_ids: Sequence[str]) -> pa.Table:
        """Every record that a catalog has had under these ids, with the run that saw it first. `record` is NULL for a
        tool's first; for a later one it stands beside `before`, the one that it replaced."""
        wanted = pa.table({"key": pa.array(tool_ids, pa.string())})
        with _registered(self._connection, wanted) as name:
            return self._connection.sql(
                f"""
                SELECT tool_id, record_hash, first_run AS run_id, started_at AS seen_at, area,
                    lag(record) OVER earlier AS before, CASE WHEN before IS NOT NULL THEN record END AS record
                FROM records JOIN {name} ON key = tool_id LEFT JOIN runs ON runs.run_id = first_run
                WHERE records.catalog = ?
                WINDOW earlier AS (PARTITION BY tool_id ORDER BY first_run)
                """,
                params=[catalog],
            ).to_arrow_table()

    def attempts(self, hashes: Sequence[str]) -> pa.Table:
        """Every answer and every failure about these records, of any build of the workspace; an answer's `kind` is
        NULL."""
        shared = "expansion_key, record_hash, generator, model, prompt_tokens, cached_tokens, completion_tokens"
        wanted = pa.table({"key": pa.array(hashes, pa.string())})
        with _registered(self._connection, wanted) as name:
            return self._connection.sql(
                f"""
                SELECT {shared}, cost_usd, run_id, created_at, NULL::VARCHAR AS kind, NULL::VARCHAR AS message
                FROM expansions JOIN {name} ON key = record_hash
                UNION ALL
                SELECT {shared}, cost_usd, run_id, created_at, kind, message
                FROM failures JOIN {name} ON key = record_hash
                """
            ).to_arrow_table()

    def vectors(self, hashes: Sequence[str], model_key: str, dim: int) -> tuple[list[str], NDArray[np.float32]]:
        """The known vectors among these texts: their hashes, and float32 of shape (known, dim) in the same order."""
        self._vector_table(dim)
        wanted = pa.table({"hash": pa.array(hashes, pa.string())})
        with _registered(self._connection, wanted) as name:
            found = self._connection.sql(
                f"SELECT text_hash, vector FROM vectors_{dim} JOIN {name} ON hash = text_hash WHERE model_key = ?",
                params=[model_key],
            ).to_arrow_table()
        flat = found["vector"].combine_chunks().flatten()
        return found["text_hash"].to_pylist(), np.asarray(flat, dtype=np.float32).reshape(-1, dim)

    def known_vectors(self, hashes: Sequence[str], model_key: str, dim: int) -> set[str]:
        """The hashes among these that the ledger has a vector of this model for."""
        self._vector_table(dim)
        wanted = pa.table({"hash": pa.array(hashes, pa.string())})
        with _registered(self._connection, wanted) as name:
            rows = self._connection.execute(
                f"SELECT text_hash FROM vectors_{dim} JOIN {name} ON hash = text_hash WHERE model_key = ?",
                [model_key],
            ).fetchall()
        return {digest for (digest,) in rows}

    def put_vectors(self, hashes: Sequence[str], vectors: NDArray[np.float32], model_key: str) -> None:
        """Keep vectors of texts that the ledger does not have for this model. `vectors` is (len(hashes), dim)."""
        dim = vectors.shape[1]
        self._vector_table(dim)
        self._insert(
            f"vectors_{dim}",
            {
                "text_hash": list(hashes),
                "model_key": [model_key] * len(hashes),
                "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), dim),
            },
        )

    def _vector_table(self, dim: int) -> None:
        self._connection.execute(
            f"CREATE TABLE IF NOT EXISTS vectors_{dim} (text_hash VARCHAR, model_key VARCHAR, vector FLOAT[{int(dim)}])"
        )

    def _insert(self, table: str, columns: Mapping[str, Any], unless: str | None = None) -> None:
        """Insert rows by column name, through Arrow: 100,000 vectors take 1.2 s, row by row 440 s."""
        rows = pa.table(dict(columns))
        if not len(rows):
            return
        missing = f"WHERE NOT EXISTS (SELECT 1 FROM {table} t WHERE {unless})" if unless else ""
        with _registered(self._connection, rows) as name:
            self._connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM {name} n {missing}")


def _locked(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class _registered(AbstractContextManager[str]):
    """An Arrow table under a name in SQL, for the length of one statement."""

    def __init__(self, connection: "duckdb.DuckDBPyConnection", table: pa.Table) -> None:
        self._connection, self._table = connection, table

    def __enter__(self) -> str:
        self._connection.register("arrow_rows", self._table)
        return "arrow_rows"

    def __exit__(self, *_: object) -> None:
        self._connection.unregister("arrow_rows")


def _now() -> datetime:
    # UTC without its name: DuckDB gives TIMESTAMPTZ to Python only where pytz is installed.
    return datetime.now(UTC).replace(tzinfo=None)
