"""How the runs of a catalog ended: what the next one compares itself with."""

from collections.abc import Sequence
from datetime import UTC, datetime

from pipeline.ledger.connection import LedgerFile
from router.fingerprint import canonical_json


class OutcomeQueries(LedgerFile):
    """Questions about the outcomes of runs, and what a run went without."""

    def put_degraded(self, run: int, degraded: Sequence[str]) -> None:
        """Keep with the figures of a run what it went without."""
        self._connection.execute(
            "UPDATE runs SET counts = json_merge_patch(coalesce(counts, '{}'), ?) WHERE run_id = ?",
            [canonical_json({"degraded": list(degraded)}), run],
        )

    def previous_outcome(self, run: int, catalog: str, area: str) -> str | None:
        """Return how the run of a catalog before `run` ended; None where there was none.

        It is the run's outcome, "degraded" where it went without something, "killed" where it was.
        """
        rows = self._connection.execute(
            """
            SELECT outcome, counts ->> '$.degraded[0]' FROM runs
            WHERE catalog = ? AND coalesce(area, 'snapshots') = ? AND run_id < ? ORDER BY run_id DESC LIMIT 1
            """,
            [catalog, area, run],
        ).fetchall()
        if not rows:
            return None
        outcome, degraded = rows[0]
        return "degraded" if degraded and outcome in ("published", "unchanged") else str(outcome)

    def last_end(self, catalog: str, area: str, outcomes: Sequence[str]) -> datetime | None:
        """Return when the last run of a catalog ended that had one of these outcomes, in UTC; None without one."""
        rows = self._connection.execute(
            "SELECT max(finished_at) FROM runs "
            "WHERE catalog = ? AND coalesce(area, 'snapshots') = ? AND list_contains(?, outcome)",
            [catalog, area, list(outcomes)],
        ).fetchall()
        ended: datetime | None = rows[0][0]
        return None if ended is None else ended.replace(tzinfo=UTC)
