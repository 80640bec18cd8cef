"""Tools that were held back alone, by their content, and what was decided about them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import duckdb

from pipeline.ledger.connection import LedgerFile, utc_now
from pipeline.ledger.schema import transaction

HELD, RELEASED = "held", "released"
_COLUMNS = "tool_id, content_hash, kind, state, since, run_id, requests, probes, distance, examples, told"


@dataclass(frozen=True, slots=True)
class StoredQuarantine:
    """A row of the table `quarantine`. `examples` are requests, each with the tools that serve it; `since` is UTC."""

    tool_id: str
    content_hash: str
    kind: str
    state: str
    since: datetime
    run_id: int
    requests: int
    probes: int
    distance: float
    examples: tuple[tuple[str, tuple[str, ...]], ...]
    told: bool


class QuarantineTables(LedgerFile):
    """The table of tools that are held back, by catalog and area."""

    def quarantine(self, catalog: str, area: str) -> list[StoredQuarantine]:
        """Return the tools that are held back and those that were released, sorted by time and id."""
        return stored_quarantine(self._connection, catalog, area)

    def put_quarantine(
        self, run: int, catalog: str, area: str, held: Sequence[StoredQuarantine], current: Mapping[str, str]
    ) -> None:
        """Store the tools that a run holds back, in the place of those held before.

        `current` has the content hashes of the tools that the run looked at: what else was held of these ids is
        forgotten, and what is held of other ids stays, as of a source that could not be read.
        """
        with transaction(self._connection):
            self._connection.execute(
                "DELETE FROM quarantine WHERE catalog = ? AND area = ? AND state = ? "
                "AND tool_id IN (SELECT unnest(?::VARCHAR[]))",
                [catalog, area, HELD, list(current)],
            )
            count = len(held)
            self._insert(
                "quarantine",
                {
                    "catalog": [catalog] * count,
                    "area": [area] * count,
                    "tool_id": [one.tool_id for one in held],
                    "content_hash": [one.content_hash for one in held],
                    "kind": [one.kind for one in held],
                    "state": [HELD] * count,
                    "since": [one.since.astimezone(UTC).replace(tzinfo=None) for one in held],
                    "run_id": [one.run_id or run for one in held],
                    "requests": [one.requests for one in held],
                    "probes": [one.probes for one in held],
                    "distance": [one.distance for one in held],
                    "examples": [json.dumps(one.examples, ensure_ascii=False) for one in held],
                    "told": [one.told for one in held],
                },
            )

    def set_quarantine_told(self, catalog: str, area: str) -> None:
        """Remember that a build has told of all tools that are held back."""
        self._connection.execute(
            "UPDATE quarantine SET told = true WHERE catalog = ? AND area = ? AND NOT told", [catalog, area]
        )

    def release_quarantine(self, catalog: str, area: str, tool_ids: Sequence[str]) -> None:
        """Let these tools serve from the next build on, as long as their content stays."""
        self._connection.execute(
            "UPDATE quarantine SET state = ?, decided_at = ? WHERE catalog = ? AND area = ? AND state = ? "
            "AND tool_id IN (SELECT unnest(?::VARCHAR[]))",
            [RELEASED, utc_now(), catalog, area, HELD, list(tool_ids)],
        )

    def hold_quarantine(self, catalog: str, area: str, tool_ids: Sequence[str]) -> None:
        """Take back the release of these tools, until they change."""
        self._connection.execute(
            "UPDATE quarantine SET state = ?, decided_at = NULL WHERE catalog = ? AND area = ? AND state = ? "
            "AND tool_id IN (SELECT unnest(?::VARCHAR[]))",
            [HELD, catalog, area, RELEASED, list(tool_ids)],
        )


def stored_quarantine(
    connection: "duckdb.DuckDBPyConnection", catalog: str, area: str = "snapshots"
) -> list[StoredQuarantine]:
    """Return the rows of an open ledger; none of a ledger of an earlier version, which has no such table."""
    if not connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'quarantine'").fetchall():
        return []
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM quarantine WHERE catalog = ? AND area = ? ORDER BY since, tool_id, content_hash",
        [catalog, area],
    ).fetchall()
    return [
        StoredQuarantine(
            tool_id,
            content_hash,
            kind,
            state,
            since.replace(tzinfo=UTC),
            run_id,
            requests,
            probes,
            distance,
            tuple((request, tuple(served)) for request, served in json.loads(examples)),
            told,
        )
        for tool_id, content_hash, kind, state, since, run_id, requests, probes, distance, examples, told in rows
    ]
