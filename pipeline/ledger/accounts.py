"""What the ledger can account for: runs, versions of records, attempts of generators; for what people inspect."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipeline.ledger.connection import LedgerFile, registered


@dataclass(frozen=True, slots=True)
class Took:
    """What a model's answers took, on average: tokens of an answer, and the share of the prompts that was cached."""

    completion_tokens: float
    cached_share: float


class Accounts(LedgerFile):
    """Questions over all that is kept, answered as Arrow tables."""

    def runs(self, catalog: str) -> pa.Table:
        """Every run of a catalog, in order, with its counts as columns; NULL where it ended before it counted."""
        return self._connection.sql(
            """
            SELECT run_id, area, started_at, finished_at, outcome, snapshot, message,
                CAST(counts ->> 'tools' AS BIGINT) AS tools,
                CAST(counts -> 'asked' AS MAP(VARCHAR, BIGINT)) AS asked,
                CAST(counts ->> 'embedded' AS BIGINT) AS embedded,
                CAST(counts ->> 'cost_usd' AS DOUBLE) AS cost_usd,
                CAST(counts -> 'estimate' ->> 'cost_usd' AS DOUBLE) AS estimated_usd
            FROM runs WHERE catalog = ? ORDER BY run_id
            """,
            params=[catalog],
        ).to_arrow_table()

    def took(self, model: str) -> Took | None:
        """What the answers of a model took so far; None where it gave none that was counted."""
        # All rows are fetched: a result that is not at its end keeps the connection from any other work.
        rows = self._connection.execute(
            """
            SELECT avg(completion_tokens), sum(cached_tokens) / sum(prompt_tokens)
            FROM expansions WHERE model = ? AND generator = 'openai' AND prompt_tokens > 0
            """,
            [model],
        ).fetchall()
        return Took(float(rows[0][0]), float(rows[0][1])) if rows[0][0] is not None else None

    def versions(self, catalog: str, tool_ids: Sequence[str]) -> pa.Table:
        """Every record that a catalog has had under these ids, with the run that saw it first. `record` is NULL for a
        tool's first; for a later one it stands beside `before`, the one that it replaced."""
        wanted = pa.table({"key": pa.array(tool_ids, pa.string())})
        with registered(self._connection, wanted) as name:
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
        with registered(self._connection, wanted) as name:
            return self._connection.sql(
                f"""
                SELECT {shared}, cost_usd, run_id, created_at, NULL::VARCHAR AS kind, NULL::VARCHAR AS message
                FROM expansions JOIN {name} ON key = record_hash
                UNION ALL
                SELECT {shared}, cost_usd, run_id, created_at, kind, message
                FROM failures JOIN {name} ON key = record_hash
                """
            ).to_arrow_table()
