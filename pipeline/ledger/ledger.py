"""The open ledger: its parts behind one connection, and the runs of builds."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
from filelock import FileLock

from pipeline.errors import RecordRejected
from pipeline.ledger.answers import Answers
from pipeline.ledger.backups import back_up, backups_of, open_or_restore, run_of
from pipeline.ledger.batches import Batches
from pipeline.ledger.database import Database, columns_of, utc_now
from pipeline.ledger.files import as_ours, keep_private, quoted
from pipeline.ledger.history import History
from pipeline.ledger.lock import LEDGER_FILE, Tell, lock_workspace, waited_for
from pipeline.ledger.quarantine import Quarantine
from pipeline.ledger.schema import update_tables
from pipeline.ledger.source_readings import SourceReadings
from pipeline.ledger.vectors import Vectors
from pipeline.records import Catalog
from pipeline.settings import LedgerSettings
from router.fingerprint import canonical_json


class Ledger(AbstractContextManager["Ledger"]):
    """The open ledger. What writes to it has committed when it returns.

    Attributes:
        problems: What the build went without: what was lost of the ledger, a backup that could not be made.
    """

    def __init__(self, connection: "duckdb.DuckDBPyConnection", lock: FileLock, path: Path, lost: str = "") -> None:
        """Internal: use `open`."""
        self.path = path
        self.problems: tuple[str, ...] = (lost,) if lost else ()
        self._database = Database(connection, path)
        self._lock = lock
        self.answers = Answers(self._database)
        self.batches = Batches(self._database)
        self.history = History(self._database)
        self.quarantine = Quarantine(self._database)
        self.vectors = Vectors(self._database)

    @classmethod
    def open(cls, workspace: Path, wait_s: float = 0.0, *, tell: Tell = lambda _: None) -> Self:
        """Open or create the ledger of a workspace; wait up to `wait_s` seconds for whoever holds it.

        A ledger that is missing or damaged is restored from the last backup; one of an earlier version is copied and
        brought up to date. `tell` hears who is waited for, and what was restored. Raises SettingsInvalid where the
        workspace cannot be written, RunAborted where the ledger stays in use, is of a newer version, or is damaged
        and there is no backup.
        """
        ledger = waited_for(lambda: cls._open(Path(workspace)), wait_s, tell)
        for problem in ledger.problems:
            tell(problem)
        return ledger

    @classmethod
    def _open(cls, workspace: Path) -> Self:
        path, lock = workspace / LEDGER_FILE, lock_workspace(workspace)
        connection = None
        try:
            connection, lost = open_or_restore(path)
            update_tables(connection, path)
            if lost:
                _skip_run_numbers(connection, max(map(run_of, backups_of(workspace)), default=0))
        except BaseException as error:
            if connection is not None:
                connection.close()
            lock.release()
            raise as_ours(error, path) from error
        keep_private(path)
        return cls(connection, lock, path, lost)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.connection.close()
        self._lock.release()

    def back_up(self, settings: LedgerSettings, run: int, tell: Tell) -> None:
        """Copy the ledger if anything was stored since the last backup. Where that fails, `tell` hears why."""
        problem = back_up(self._database.connection, self.path, run, settings)
        if problem is not None and problem not in self.problems:
            self.problems += (problem,)
            tell(problem)

    def source_readings(
        self, catalog: str, area: str, serving: Path | None, note: Tell = lambda _: None
    ) -> SourceReadings:
        """Return what the sources of a catalog gave. `serving` is the folder of the snapshot that serves."""
        return SourceReadings(self._database, catalog, area, serving.name if serving else None, note)

    def spill_into(self, folder: Path) -> None:
        """Let DuckDB put what does not fit into its memory into `folder`, which it makes when it needs it."""
        self._database.execute(f"SET temp_directory = {quoted(str(folder))}")

    def start_run(self, catalog: str, area: str = "snapshots") -> int:
        """Open a run and return its id. `area` separates what is to serve from experiments."""
        run = self._database.value(
            "INSERT INTO runs (run_id, catalog, started_at, outcome, area) "
            "VALUES (nextval('run_ids'), ?, ?, 'running', ?) RETURNING run_id",
            [catalog, utc_now(), area],
        )
        return int(run)

    def close_killed_runs(self) -> list[int]:
        """Close the runs that a kill left open, and return their ids: whoever has the ledger open runs none."""
        rows = self._database.rows(
            "UPDATE runs SET outcome = 'killed', message = 'the process ended without closing the run' "
            "WHERE outcome = 'running' RETURNING run_id"
        )
        return sorted(run for (run,) in rows)

    def latest_run(self) -> int:
        """Return the id of the latest run; 0 before the first."""
        return int(self._database.value("SELECT coalesce(max(run_id), 0) FROM runs"))

    def put_counts(self, run: int, counts: Mapping[str, Any]) -> None:
        """Store the figures of a run that goes on: its snapshot shows them, and they last if it fails."""
        self._database.execute("UPDATE runs SET counts = ? WHERE run_id = ?", [canonical_json(counts), run])

    def put_degraded(self, run: int, degraded: Sequence[str]) -> None:
        """Keep with the figures of a run what it went without."""
        self._database.execute(
            "UPDATE runs SET counts = json_merge_patch(coalesce(counts, '{}'), ?) WHERE run_id = ?",
            [canonical_json({"degraded": list(degraded)}), run],
        )

    def finish_run(self, run: int, outcome: str, *, snapshot: str | None, message: str) -> None:
        """Close a run. `outcome` is "published", "unchanged", "held" or "failed"; `message` says why it was held."""
        self._database.execute(
            "UPDATE runs SET finished_at = ?, outcome = ?, snapshot = ?, message = ? WHERE run_id = ?",
            [utc_now(), outcome, snapshot, message, run],
        )

    def put_catalog(self, run: int, name: str, catalog: Catalog, rejected: Sequence[RecordRejected]) -> None:
        """Store the records that are new, and this run's rejections and notices."""
        self._database.insert(
            "records",
            {
                **columns_of(catalog.records, ["tool_id"]),
                "record_hash": [catalog.hashes[r.tool_id] for r in catalog.records],
                "record": [canonical_json(r.to_json()) for r in catalog.records],
                "catalog": name,
                "first_run": run,
            },
            unless="t.record_hash = n.record_hash AND t.tool_id = n.tool_id AND t.catalog = n.catalog",
        )
        for table, noticed, columns in (
            ("rejections", rejected, ("reason",)),
            ("notices", catalog.notices, ("tool_id", "kind", "message")),
        ):
            places = columns_of([one.origin for one in noticed], ("file", "pointer"))
            self._database.insert(table, {**columns_of(noticed, columns), **places, "run_id": run})

    def previous_outcome(self, run: int, catalog: str, area: str) -> str | None:
        """Return how the run of a catalog before `run` ended; None where there was none.

        It is the run's outcome, "degraded" where it went without something, "killed" where it was.
        """
        rows = self._database.rows(
            """
            SELECT outcome, counts ->> '$.degraded[0]' FROM runs
            WHERE catalog = ? AND coalesce(area, 'snapshots') = ? AND run_id < ? ORDER BY run_id DESC LIMIT 1
            """,
            [catalog, area, run],
        )
        if not rows:
            return None
        outcome, degraded = rows[0]
        return "degraded" if degraded and outcome in ("published", "unchanged") else str(outcome)

    def last_end(self, catalog: str, area: str, outcomes: Sequence[str]) -> datetime | None:
        """Return when the last run of a catalog ended that had one of these outcomes, in UTC; None without one.

        A run that changed nothing while a gate holds back what it would publish has a message, and does not count.
        """
        ended: datetime | None = self._database.value(
            "SELECT max(finished_at) FROM runs WHERE catalog = ? AND coalesce(area, 'snapshots') = ? "
            "AND list_contains(?, outcome) AND coalesce(message, '') = ''",
            [catalog, area, list(outcomes)],
        )
        return None if ended is None else ended.replace(tzinfo=UTC)


def _skip_run_numbers(connection: "duckdb.DuckDBPyConnection", last: int) -> None:
    """Let the next run have a number above `last`: the numbers order runs and backups, and never repeat."""
    given: int = connection.execute("SELECT coalesce(last_value, 0) FROM duckdb_sequences()").fetchall()[0][0]
    connection.execute("SELECT max(nextval('run_ids')) FROM range(?)", [max(0, last - given)]).fetchall()
