"""Runs of builds, and the records, rejections and notices of each run's catalog."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.errors import RecordRejected
from pipeline.ledger.connection import LedgerFile, utc_now
from pipeline.ledger.run_numbers import close_killed_runs
from pipeline.records import Catalog
from router.fingerprint import canonical_json


class RunTables(LedgerFile):
    """The tables of runs and of what each run read."""

    def start_run(self, catalog: str, area: str = "snapshots") -> int:
        """Open a run and return its id. `area` separates what is to serve from experiments."""
        row = self._connection.execute(
            "INSERT INTO runs (run_id, catalog, started_at, outcome, area) "
            "VALUES (nextval('run_ids'), ?, ?, 'running', ?) RETURNING run_id",
            [catalog, utc_now(), area],
        ).fetchall()
        return int(row[0][0])

    def close_killed_runs(self) -> list[int]:
        """Close the runs that a kill left open, and return their ids."""
        return close_killed_runs(self._connection)

    def put_counts(self, run: int, counts: Mapping[str, Any]) -> None:
        """Store the figures of a run that goes on: its snapshot shows them, and they last if it fails."""
        self._connection.execute("UPDATE runs SET counts = ? WHERE run_id = ?", [canonical_json(counts), run])

    def finish_run(
        self, run: int, outcome: str, *, snapshot: str | None, message: str, counts: Mapping[str, Any] | None = None
    ) -> None:
        """Close a run. `outcome` is "published", "unchanged", "held" or "failed".

        Without `counts`, those that were stored before stay.
        """
        self._connection.execute(
            "UPDATE runs SET finished_at = ?, outcome = ?, snapshot = ?, message = ?, counts = coalesce(?, counts) "
            "WHERE run_id = ?",
            [utc_now(), outcome, snapshot, message, None if counts is None else canonical_json(counts), run],
        )

    def put_catalog(self, run: int, name: str, catalog: Catalog, rejected: Sequence[RecordRejected]) -> None:
        """Store the records that are new, and this run's rejections and notices."""
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

    def latest_run(self) -> int:
        """Return the id of the latest run; 0 before the first."""
        row = self._connection.execute("SELECT coalesce(max(run_id), 0) FROM runs").fetchall()
        return int(row[0][0])
