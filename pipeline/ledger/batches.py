"""Batches submitted to a model's server, with their requests, from before the upload until the answers are stored."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from pipeline.ledger.database import Database, utc_now


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """One `line` of a batch's file, from 1, with what storing its answer takes once no build asks for it any more.

    `name` is the tool's name as the answer must repeat it.
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


class Batches(Database):
    """The tables of batches and of their requests."""

    def put(self, server: str, model: str, batch: Batch, requests: Sequence[BatchRequest]) -> None:
        """Store a batch that is about to be submitted to this server, with all of its requests."""
        with self.transaction():
            self.execute(
                "INSERT INTO batches (token, server, model, rung, prompt_version, created_at, run_id) "
                "SELECT ?, ?, ?, ?, ?, ?, max(run_id) FROM runs",
                [batch.token, server, model, batch.output_mode, batch.prompt_version, batch.created_at],
            )
            self.insert("batch_requests", [asdict(request) for request in requests], token=batch.token)

    def mark_uploaded(self, token: str, file_id: str) -> None:
        """Store the id of a batch's uploaded file. From now on the server may have created the batch."""
        self.execute("UPDATE batches SET file_id = ?, asked_at = ? WHERE token = ?", [file_id, utc_now(), token])

    def mark_created(self, token: str, batch_id: str) -> None:
        """Store the id under which the server has a batch."""
        self.execute("UPDATE batches SET batch_id = ? WHERE token = ?", [batch_id, token])

    def mark_settled(self, token: str, outcome: str) -> None:
        """Close a batch that has no more answers. `outcome` is its last status at the server, "lost" or "not sent"."""
        self.execute("UPDATE batches SET outcome = ?, settled_at = ? WHERE token = ?", [outcome, utc_now(), token])

    def unsettled(self, server: str, model: str) -> list[Batch]:
        """Return the batches of a server and a model that are not settled, in the order of their submission."""
        rows = self.rows(
            "SELECT token, rung, prompt_version, created_at, file_id, asked_at, batch_id FROM batches "
            "WHERE server = ? AND model = ? AND outcome IS NULL ORDER BY created_at, token",
            [server, model],
        )
        return [Batch(*row) for row in rows]

    def requests(self, token: str) -> list[BatchRequest]:
        """Return the requests of a batch, in the order of its file."""
        rows = self.rows(
            "SELECT line, key, record_hash, tool_id, name FROM batch_requests WHERE token = ? ORDER BY line", [token]
        )
        return [BatchRequest(*row) for row in rows]

    def awaited_keys(self, model: str) -> set[str]:
        """Return the keys of all questions to a model in batches that are not settled."""
        rows = self.rows(
            "SELECT key FROM batch_requests JOIN batches USING (token) WHERE model = ? AND outcome IS NULL", [model]
        )
        return {key for (key,) in rows}

    def recorded_keys(self, token: str) -> set[str]:
        """Return the keys of a batch whose outcomes, and costs, were stored since its submission."""
        rows = self.rows(
            """
            SELECT key FROM batch_requests JOIN batches USING (token)
            JOIN (FROM expansions UNION ALL BY NAME FROM failures) outcome ON expansion_key = key
            WHERE token = ? AND outcome.created_at >= batches.created_at
            """,
            [token],
        )
        return {key for (key,) in rows}
