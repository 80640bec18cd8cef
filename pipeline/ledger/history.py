"""Questions over the whole ledger: runs, versions of records, attempts of generators."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipeline.ledger.connection import LedgerFile, arrow_table_name

_COLUMNS = (
    "expansion_key, record_hash, tool_id, generator, model, prompt_tokens, cached_tokens, completion_tokens, cost_usd, "
    "run_id, created_at"
)
# Answers and failures, all of them.
_ATTEMPTS = f"""
    SELECT {_COLUMNS}, prompt_version, NULL::VARCHAR AS kind, NULL::VARCHAR AS message FROM expansions
    UNION ALL
    SELECT {_COLUMNS}, NULL, kind, message FROM failures
"""


@dataclass(frozen=True, slots=True)
class AverageUsage:
    """The mean number of tokens of a model's answers, and the share of its prompts' tokens that was cached."""

    completion_tokens: float
    cached_share: float


class HistoryQueries(LedgerFile):
    """Questions that are answered as Arrow tables, for inspection, and the average usage of a model."""

    def runs(self, catalog: str) -> pa.Table:
        """Return the runs of a catalog, in order, with their counts as columns; NULL where a run ended too early.

        Costs are those of its stored answers: they are known of a run that goes on, failed or was killed.
        """
        return self._connection.sql(
            f"""
            SELECT run_id, area, started_at, finished_at, outcome, snapshot, message,
                CAST(counts ->> 'tools' AS BIGINT) AS tools,
                CAST(counts -> 'asked' AS MAP(VARCHAR, BIGINT)) AS asked,
                CAST(counts ->> 'embedded' AS BIGINT) AS embedded,
                CASE WHEN paid.unpriced > 0 THEN NULL ELSE coalesce(paid.cost_usd, 0) END AS cost_usd,
                CAST(counts -> 'estimate' ->> 'cost_usd' AS DOUBLE) AS estimated_usd
            FROM runs LEFT JOIN (
                SELECT run_id, sum(cost_usd) AS cost_usd, count(*) - count(cost_usd) AS unpriced
                FROM ({_ATTEMPTS}) GROUP BY run_id
            ) paid USING (run_id)
            WHERE catalog = ? ORDER BY run_id
            """,
            params=[catalog],
        ).to_arrow_table()

    def spending(self, catalog: str) -> pa.Table:
        """Return what each run of a catalog was answered and paid, by provider, generator and model."""
        return self._connection.sql(
            f"""
            SELECT run_id, provider, generator, model, count(*) FILTER (kind IS NULL) AS answers,
                count(kind) AS failures, sum(prompt_tokens)::BIGINT AS prompt_tokens,
                sum(cached_tokens)::BIGINT AS cached_tokens, sum(completion_tokens)::BIGINT AS completion_tokens,
                sum(cost_usd) AS cost_usd, count(*) - count(cost_usd) AS unpriced
            FROM ({_ATTEMPTS}) JOIN runs USING (run_id)
            LEFT JOIN (
                SELECT record_hash, tool_id, any_value(record ->> 'provider') AS provider
                FROM records WHERE catalog = $catalog GROUP BY record_hash, tool_id
            ) USING (record_hash, tool_id)
            WHERE runs.catalog = $catalog
            GROUP BY run_id, provider, generator, model
            ORDER BY run_id, provider, generator, model
            """,
            params={"catalog": catalog},
        ).to_arrow_table()

    def average_usage(self, model: str) -> AverageUsage | None:
        """Return what a model's answers took on average; None where it has no counted answer."""
        # All rows are fetched: a result that is not at its end keeps the connection from any other work.
        rows = self._connection.execute(
            """
            SELECT avg(completion_tokens), sum(cached_tokens) / sum(prompt_tokens)
            FROM expansions WHERE model = ? AND generator = 'openai' AND prompt_tokens > 0
            """,
            [model],
        ).fetchall()
        return AverageUsage(float(rows[0][0]), float(rows[0][1])) if rows[0][0] is not None else None

    def latest_kinds(self, model: str, count: int) -> list[str]:
        """Return the kinds of failure of a model's latest answers, the newest first; "" for one that could be used."""
        rows = self._connection.execute(
            f"""
            SELECT coalesce(kind, '') FROM ({_ATTEMPTS}) WHERE model = ? AND generator = 'openai'
            ORDER BY run_id DESC, created_at DESC LIMIT ?
            """,
            [model, count],
        ).fetchall()
        return [str(kind) for (kind,) in rows]

    def versions(self, catalog: str, tool_ids: Sequence[str]) -> pa.Table:
        """Return every version of a catalog's records under these ids, with the run that first saw it.

        `before` is the version that a later one replaced. `record` and `before` are NULL for a tool's first version.
        """
        wanted_ids = pa.table({"key": pa.array(tool_ids, pa.string())})
        with arrow_table_name(self._connection, wanted_ids) as name:
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

    def attempts(self, hashes: Sequence[str], keys: Sequence[str] = ()) -> pa.Table:
        """Return the answers and failures about records with these hashes, or under these keys, of any build.

        An answer's `kind` is NULL, a failure's `prompt_version`.
        """
        wanted = pa.table({"key": pa.array({*hashes, *keys}, pa.string())})
        with arrow_table_name(self._connection, wanted) as name:
            return self._connection.sql(
                f"""
                SELECT attempt.* EXCLUDE tool_id FROM ({_ATTEMPTS}) attempt
                WHERE record_hash IN (SELECT key FROM {name}) OR expansion_key IN (SELECT key FROM {name})
                """
            ).to_arrow_table()

    def restorable_answers(self, hashes: Sequence[str], current: Sequence[str]) -> pa.Table:
        """Return what a lost ledger is restored from: answers and failures about records with these hashes.

        All columns but the text that a model wrote; an answer's `kind` is NULL. What was free, of a file or the
        lexicon, only about the records with the `current` hashes: it can be made again.
        """
        wanted = pa.table({"key": pa.array(hashes, pa.string())})
        with arrow_table_name(self._connection, wanted) as name:
            now = pa.table({"hash": pa.array(current, pa.string())})
            self._connection.register("arrow_current", now)
            try:
                return self._connection.sql(
                    f"""
                    SELECT * EXCLUDE completion FROM (FROM expansions UNION ALL BY NAME FROM failures) SEMI JOIN {name}
                        ON key = record_hash
                    WHERE generator NOT IN ('file', 'lexicon') OR record_hash IN (SELECT hash FROM arrow_current)
                    ORDER BY run_id, created_at, expansion_key
                    """
                ).to_arrow_table()
            finally:
                self._connection.unregister("arrow_current")
