"""The open ledger: its parts behind one connection, and the runs of builds."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
from msgspec import to_builtins

from pipeline.errors import RecordRejected, RunAborted
from pipeline.ledger.answers import Answers
from pipeline.ledger.backups import back_up, back_up_before_migration, backups_of, open_or_restore, run_of
from pipeline.ledger.batches import Batches
from pipeline.ledger.database import Database, LedgerDamaged, contents, explained, keep_private, quoted, utc_now
from pipeline.ledger.history import History
from pipeline.ledger.lock import LEDGER_FILE, Tell, lock_workspace, waited_for
from pipeline.ledger.quarantine import Quarantine
from pipeline.ledger.refusals import Refusals
from pipeline.ledger.source_readings import SourceReadings
from pipeline.ledger.vectors import Vectors
from pipeline.records import Catalog
from pipeline.settings import LedgerSettings
from router.fingerprint import canonical_json, fingerprint

VERSION = 4  # of the tables in schema.sql


class Ledger(Database, AbstractContextManager["Ledger"]):
    """The open ledger. What writes to it has committed when it returns.

    Attributes:
        problems: What the build went without: what was lost of the ledger, a backup that could not be made.
    """

    def __init__(self, connection: "duckdb.DuckDBPyConnection", path: Path, opened: ExitStack, lost: str) -> None:
        """Internal: use `open`."""
        super().__init__(connection, path)
        self.problems: tuple[str, ...] = (lost,) if lost else ()
        self._opened = opened
        self.answers = Answers(connection, path)
        self.batches = Batches(connection, path)
        self.history = History(connection, path)
        self.quarantine = Quarantine(connection, path)
        self.refusals = Refusals(connection, path)
        self.vectors = Vectors(connection, path)

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
        path = workspace / LEDGER_FILE
        with ExitStack() as stack:
            stack.callback(lock_workspace(workspace).release)
            try:
                connection, lost = open_or_restore(path)
                stack.callback(connection.close)
                update_tables(Database(connection, path))
                if lost:
                    _skip_run_numbers(connection, max(map(run_of, backups_of(workspace)), default=0))
            except (duckdb.Error, OSError) as error:
                ours = explained(error, path)
                if isinstance(ours, LedgerDamaged):
                    ours = RunAborted(f"the ledger {path} cannot be opened: {ours.reason}")
                raise ours from error
            keep_private(path)
            return cls(connection, path, stack.pop_all(), lost)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    def back_up(self, settings: LedgerSettings, run: int, tell: Tell) -> None:
        """Copy the ledger if anything was stored since the last backup. Where that fails, `tell` hears why."""
        problem = back_up(self.connection, self.path, run, settings)
        if problem is not None and problem not in self.problems:
            self.problems += (problem,)
            tell(problem)

    def source_readings(
        self, catalog: str, area: str, serving: Path | None, note: Tell = lambda _: None
    ) -> SourceReadings:
        """Return what the sources of a catalog gave. `serving` is the folder of the snapshot that serves."""
        return SourceReadings(self, catalog, area, serving.name if serving else None, note)

    def spill_into(self, folder: Path) -> None:
        """Let DuckDB put what does not fit into its memory into `folder`, which it makes when it needs it."""
        self.execute(f"SET temp_directory = {quoted(str(folder))}")

    def start_run(self, catalog: str, area: str = "snapshots") -> int:
        """Open a run and return its id. `area` separates what is to serve from experiments."""
        ((run,),) = self.rows(
            "INSERT INTO runs (run_id, catalog, started_at, outcome, area) "
            "VALUES (nextval('run_ids'), ?, ?, 'running', ?) RETURNING run_id",
            [catalog, utc_now(), area],
        )
        return int(run)

    def close_killed_runs(self) -> list[int]:
        """Close the runs that a kill left open, and return their ids: whoever has the ledger open runs none."""
        rows = self.rows(
            "UPDATE runs SET outcome = 'killed', message = 'the process ended without closing the run' "
            "WHERE outcome = 'running' RETURNING run_id"
        )
        return sorted(run for (run,) in rows)

    def latest_run(self) -> int:
        """Return the id of the latest run; 0 before the first."""
        return int(self.rows("SELECT coalesce(max(run_id), 0) FROM runs")[0][0])

    def put_counts(self, run: int, counts: Mapping[str, Any]) -> None:
        """Store the figures of a run that goes on: its snapshot shows them, and they last if it fails."""
        self.execute("UPDATE runs SET counts = ? WHERE run_id = ?", [canonical_json(counts), run])

    def put_degraded(self, run: int, degraded: Sequence[str]) -> None:
        """Keep with the figures of a run what it went without."""
        self.execute(
            "UPDATE runs SET counts = json_merge_patch(coalesce(counts, '{}'), ?) WHERE run_id = ?",
            [canonical_json({"degraded": list(degraded)}), run],
        )

    def finish_run(self, run: int, outcome: str, *, snapshot: str | None, message: str) -> None:
        """Close a run. `outcome` is "published", "unchanged", "held" or "failed"; `message` says why it was held."""
        self.execute(
            "UPDATE runs SET finished_at = ?, outcome = ?, snapshot = ?, message = ? WHERE run_id = ?",
            [utc_now(), outcome, snapshot, message, run],
        )

    def put_catalog(self, run: int, name: str, catalog: Catalog, rejected: Sequence[RecordRejected]) -> None:
        """Store the records that are new, and this run's rejections and notices."""
        known = set(self.rows("SELECT tool_id, record_hash FROM records WHERE catalog = ?", [name]))
        records = [
            {"tool_id": tool_id, "record_hash": record_hash, "record": canonical_json(one.to_json())}
            for one in catalog.records
            if ((tool_id := one.tool_id), (record_hash := catalog.hashes[one.tool_id])) not in known
        ]
        key = ["record_hash", "tool_id", "catalog"]
        self.insert("records", records, key=key, catalog=name, first_run=run)
        rejections = [{**to_builtins(one.origin), "reason": one.reason} for one in rejected]
        self.insert("rejections", rejections, run_id=run)
        notices = [
            {**to_builtins(one.origin), "tool_id": one.tool_id, "kind": one.kind, "message": one.message}
            for one in catalog.notices
        ]
        self.insert("notices", notices, run_id=run)

    def previous_outcome(self, run: int, catalog: str, area: str) -> str | None:
        """Return how the run of a catalog before `run` ended; None where there was none.

        It is the run's outcome, "degraded" where it went without something, "killed" where it was.
        """
        rows = self.rows(
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
        ((ended,),) = self.rows(
            "SELECT max(finished_at) FROM runs WHERE catalog = ? AND coalesce(area, 'snapshots') = ? "
            "AND list_contains(?, outcome) AND coalesce(message, '') = ''",
            [catalog, area, list(outcomes)],
        )
        return None if ended is None else ended.replace(tzinfo=UTC)


def _skip_run_numbers(connection: "duckdb.DuckDBPyConnection", last: int) -> None:
    """Let the next run have a number above `last`: the numbers order runs and backups, and never repeat."""
    given: int = connection.execute("SELECT coalesce(last_value, 0) FROM duckdb_sequences()").fetchall()[0][0]
    connection.execute("SELECT max(nextval('run_ids')) FROM range(?)", [max(0, last - given)]).fetchall()


def file_version(connection: "duckdb.DuckDBPyConnection") -> int:
    """Return the version of a file's tables; 0 of a new file, and of versions that numbered nothing."""
    if not connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'migrations'").fetchall():
        return 0
    return int(connection.execute("SELECT coalesce(max(number), 0) FROM migrations").fetchall()[0][0])


def require_known(version: int, path: Path) -> None:
    """Raise RunAborted where a newer version of Quartermaster wrote a ledger."""
    if version > VERSION:
        raise RunAborted(
            f"the ledger {path} was written by a newer version of Quartermaster (its tables have version {version}, "
            f"this one knows {VERSION}): install that version, or restore a copy from before it with "
            "`quartermaster ledger restore`"
        )


def update_tables(database: Database) -> None:
    """Add what the file lacks of the tables, and write views and comments, all in one transaction.

    A ledger of an earlier version is copied first. Raises RunAborted where a newer version wrote the file.
    """
    version = file_version(database.connection)
    require_known(version, database.path)
    schema = resources.files("pipeline.ledger").joinpath("schema.sql").read_text(encoding="utf-8")
    # The comment of the sequence says which views and comments the file has: reading all comments takes 60 ms.
    mark = f"The numbers of the runs. Schema {fingerprint([VERSION, schema])[:16]}."
    if database.rows("SELECT 1 FROM duckdb_sequences() WHERE comment = ?", [mark]):
        return
    if version < VERSION and contents(database.connection):
        back_up_before_migration(database.connection, database.path, VERSION)
    with database.transaction():
        for (comment,) in database.rows(schema):
            database.execute(comment)
        if version < VERSION:
            sentence = f"The tables of version {VERSION}."
            database.execute("INSERT INTO migrations VALUES (?, ?, ?)", [VERSION, sentence, utc_now()])
        database.execute(f"COMMENT ON SEQUENCE run_ids IS {quoted(mark)}")
