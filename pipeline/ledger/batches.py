"""Batches handed to a model's server: what was asked in each, from before it is sent until its answers are kept."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from pipeline.ledger.connection import LedgerFile, now


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """One line of a batch's file, counted from 1, with what keeps its answer when nobody asks for it any more. `name`
    is the tool's name as the answer must repeat it."""

    line: int
    key: str
    record_hash: str
    tool_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that is not settled. `token` is ours and travels with it; `batch_id` is the server's, once it is known.

    `file_id` is the server's too: without it the batch was not asked for yet; with it, and without a `batch_id`, it
    was asked for at `asked_at` (UTC), and the server may have it or not. `rung` is the structured output asked for.
    """

    token: str
    rung: int
    prompt_version: int
    created_at: datetime
    file_id: str | None = None
    asked_at: datetime | None = None
    batch_id: str | None = None


class Batches(LedgerFile):
    """Every method commits before it returns."""

    def put_batch(self, server: str, model: str, batch: Batch, requests: Sequence[BatchRequest]) -> None:
        """Keep a batch that is about to be handed in to this server, with all of its requests."""
        with self._transaction():
            self._connection.execute(
                "INSERT INTO batches (token, server, model, rung, prompt_version, run_id, created_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                [batch.token, server, model, batch.rung, batch.prompt_version, self.latest_run(), batch.created_at],
            )
            self._insert(
                "batch_requests",
                {
                    "token": [batch.token] * len(requests),
                    **{
                        column: [getattr(request, column) for request in requests]
                        for column in BatchRequest.__dataclass_fields__
                    },
                },
            )

    def batch_uploaded(self, token: str, file_id: str) -> None:
        """The file is there: from now on the server may have made the batch."""
        self._connection.execute(
            "UPDATE batches SET file_id = ?, asked_at = ? WHERE token = ?", [file_id, now(), token]
        )

    def batch_open(self, token: str, batch_id: str) -> None:
        """The server has the batch, under this id."""
        self._connection.execute("UPDATE batches SET batch_id = ? WHERE token = ?", [batch_id, token])

    def batch_settled(self, token: str, outcome: str) -> None:
        """Nothing more will come of the batch: `outcome` is the server's last state of it, or "lost" or "not sent"."""
        self._connection.execute(
            "UPDATE batches SET outcome = ?, settled_at = ? WHERE token = ?", [outcome, now(), token]
        )

    def unsettled_batches(self, server: str, model: str) -> list[Batch]:
        """The batches of a server and a model that are not settled, in the order in which they were handed in."""
        rows = self._connection.execute(
            "SELECT token, rung, prompt_version, created_at, file_id, asked_at, batch_id FROM batches "
            "WHERE server = ? AND model = ? AND outcome IS NULL ORDER BY created_at, token",
            [server, model],
        ).fetchall()
        return [Batch(*row) for row in rows]

    def batch_requests(self, token: str) -> list[BatchRequest]:
        """What was asked in a batch, in the order of its file."""
        columns = ", ".join(BatchRequest.__dataclass_fields__)
        rows = self._connection.execute(
            f"SELECT {columns} FROM batch_requests WHERE token = ? ORDER BY line", [token]
        ).fetchall()
        return [BatchRequest(*row) for row in rows]

    def awaited(self, model: str) -> set[str]:
        """The keys of all questions to a model in batches that are not settled."""
        rows = self._connection.execute(
            "SELECT key FROM batch_requests JOIN batches USING (token) WHERE model = ? AND outcome IS NULL", [model]
        ).fetchall()
        return {key for (key,) in rows}

    def entered(self, token: str) -> set[str]:
        """The keys of a batch whose outcome was kept since it was handed in: they are in the accounts already."""
        rows = self._connection.execute(
            """
            SELECT key FROM batch_requests JOIN batches USING (token)
            JOIN (
                SELECT expansion_key, created_at AS kept_at FROM expansions
                UNION ALL SELECT expansion_key, created_at FROM failures
            ) ON expansion_key = key
            WHERE token = ? AND kept_at >= created_at
            """,
            [token],
        ).fetchall()
        return {key for (key,) in rows}

    def latest_run(self) -> int:
        """The run that was begun last; 0 before the first."""
        row = self._connection.execute("SELECT coalesce(max(run_id), 0) FROM runs").fetchall()
        return int(row[0][0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
