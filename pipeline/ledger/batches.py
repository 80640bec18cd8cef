"""Batches submitted to a model's server, with their requests, from before the upload until the answers are stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pipeline.ledger.database import Database, columns_of, utc_now


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """One line of a batch's file, counted from 1.

    It holds what storing the answer takes once no build asks for it any more. `name` is the tool's name as the answer
    must repeat it.
    """

    line: int
    key: str
    record_hash: str
    tool_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that is not settled.

    `token` is our own mark, which travels with the batch. `output_mode` is that of its requests, as a number. `file_id`
    and `batch_id` are the server's. Without a `file_id`, the server was not asked for the batch yet. With a `file_id`
    and no `batch_id`, it was asked at `asked_at` (UTC), and may have created the batch or not.
    """

    token: str
    output_mode: int
    prompt_version: int
    created_at: datetime
    file_id: str | None = None
    asked_at: datetime | None = None
    batch_id: str | None = None


_REQUEST = tuple(BatchRequest.__dataclass_fields__)


class Batches:
    """The tables of batches and of their requests."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, server: str, model: str, batch: Batch, requests: Sequence[BatchRequest]) -> None:
        """Store a batch that is about to be submitted to this server, with all of its requests."""
        with self._database.transaction():
            self._database.execute(
                "INSERT INTO batches (token, server, model, rung, prompt_version, created_at, run_id) "
                "SELECT ?, ?, ?, ?, ?, ?, max(run_id) FROM runs",
                [batch.token, server, model, batch.output_mode, batch.prompt_version, batch.created_at],
            )
            self._database.insert("batch_requests", {**columns_of(requests, _REQUEST), "token": batch.token})

    def mark_uploaded(self, token: str, file_id: str) -> None:
        """Store the id of a batch's uploaded file. From now on the server may have created the batch."""
        self._database.execute(
            "UPDATE batches SET file_id = ?, asked_at = ? WHERE token = ?", [file_id, utc_now(), token]
        )

    def mark_created(self, token: str, batch_id: str) -> None:
        """Store the id under which the server has a batch."""
        self._database.execute("UPDATE batches SET batch_id = ? WHERE token = ?", [batch_id, token])

    def mark_settled(self, token: str, outcome: str) -> None:
        """Close a batch that has no more answers. `outcome` is its last status at the server, "lost" or "not sent"."""
        self._database.execute(
            "UPDATE batches SET outcome = ?, settled_at = ? WHERE token = ?", [outcome, utc_now(), token]
        )

    def unsettled(self, server: str, model: str) -> list[Batch]:
        """Return the batches of a server and a model that are not settled, in the order of their submission."""
        rows = self._database.rows(
            "SELECT token, rung, prompt_version, created_at, file_id, asked_at, batch_id FROM batches "
            "WHERE server = ? AND model = ? AND outcome IS NULL ORDER BY created_at, token",
            [server, model],
        )
        return [Batch(*row) for row in rows]

    def requests(self, token: str) -> list[BatchRequest]:
        """Return the requests of a batch, in the order of its file."""
        rows = self._database.rows(
            f"SELECT {', '.join(_REQUEST)} FROM batch_requests WHERE token = ? ORDER BY line", [token]
        )
        return [BatchRequest(*row) for row in rows]

    def awaited_keys(self, model: str) -> set[str]:
        """Return the keys of all questions to a model in batches that are not settled."""
        rows = self._database.rows(
            "SELECT key FROM batch_requests JOIN batches USING (token) WHERE model = ? AND outcome IS NULL", [model]
        )
        return {key for (key,) in rows}

    def recorded_keys(self, token: str) -> set[str]:
        """Return the keys of a batch whose outcomes, and costs, were stored since its submission."""
        rows = self._database.rows(
            """
            SELECT key FROM batch_requests JOIN batches USING (token)
            JOIN (
                SELECT expansion_key, created_at AS kept_at FROM expansions
                UNION ALL SELECT expansion_key, created_at FROM failures
            ) ON expansion_key = key
            WHERE token = ? AND kept_at >= created_at
            """,
            [token],
        )
        return {key for (key,) in rows}
