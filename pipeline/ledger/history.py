"""Questions over the whole ledger, for inspection: runs, versions of records, attempts of generators."""

from collections.abc import Sequence

import pyarrow as pa

from pipeline.ledger.database import GIVEN, Database

_ATTEMPTS = "(FROM expansions UNION ALL BY NAME FROM failures)"


class History(Database):
    """Questions that are answered as Arrow tables."""

    def runs(self, catalog: str) -> pa.Table:
        """Return the runs of a catalog, in order, with their counts as columns; NULL where a run ended too early.

        Costs are those of its stored answers: they are known of a run that goes on, failed or was killed.
        """
        return self.table(
            f"""
            SELECT run_id, area, started_at, finished_at, outcome, snapshot, message,
                CAST(counts ->> 'tools' AS BIGINT) AS tools,
                CAST(counts -> 'asked' AS MAP(VARCHAR, BIGINT)) AS asked,
                CAST(counts ->> 'embedded' AS BIGINT) AS embedded,
                CASE WHEN paid.unpriced > 0 THEN NULL ELSE coalesce(paid.cost_usd, 0) END AS cost_usd,
                CAST(counts -> 'estimate' ->> 'cost_usd' AS DOUBLE) AS estimated_usd
            FROM runs LEFT JOIN (
                SELECT run_id, sum(cost_usd) AS cost_usd, count(*) - count(cost_usd) AS unpriced
                FROM {_ATTEMPTS} GROUP BY run_id
            ) paid USING (run_id)
            WHERE catalog = ? ORDER BY run_id
            """,
            [catalog],
        )

    def spending(self, catalog: str) -> pa.Table:
        """Return what each run of a catalog was answered and paid, by provider, generator and model."""
        return self.table(
            f"""
            SELECT run_id, provider, generator, model, count(*) FILTER (kind IS NULL) AS answers,
                count(kind) AS failures, sum(prompt_tokens)::BIGINT AS prompt_tokens,
                sum(cached_tokens)::BIGINT AS cached_tokens, sum(completion_tokens)::BIGINT AS completion_tokens,
                sum(cost_usd) AS cost_usd, count(*) - count(cost_usd) AS unpriced
            FROM {_ATTEMPTS} JOIN runs USING (run_id)
            LEFT JOIN (
                SELECT record_hash, tool_id, any_value(record ->> 'provider') AS provider
                FROM records WHERE catalog = $catalog GROUP BY record_hash, tool_id
            ) USING (record_hash, tool_id)
            WHERE runs.catalog = $catalog
            GROUP BY run_id, provider, generator, model
            ORDER BY run_id, provider, generator, model
            """,
            {"catalog": catalog},
        )

    def versions(self, catalog: str, tool_ids: Sequence[str]) -> pa.Table:
        """Return every version of a catalog's records under these ids, with the run that first saw it.

        `before` is the version that a later one replaced. `record` and `before` are NULL for a tool's first version.
        """
        return self.table(
            f"""
            SELECT tool_id, record_hash, first_run AS run_id, started_at AS seen_at, area,
                lag(record) OVER earlier AS before, CASE WHEN before IS NOT NULL THEN record END AS record
            FROM records LEFT JOIN runs ON runs.run_id = first_run
            WHERE records.catalog = $catalog AND tool_id IN {GIVEN}
            WINDOW earlier AS (PARTITION BY tool_id ORDER BY first_run)
            """,
            {"catalog": catalog, "given": list(tool_ids)},
        )

    def attempts(self, hashes: Sequence[str], keys: Sequence[str] = ()) -> pa.Table:
        """Return the answers and failures about records with these hashes, or under these keys, of any build.

        An answer's `kind` is NULL, a failure's `prompt_version`.
        """
        return self.table(
            f"""
            SELECT * EXCLUDE (tool_id, expansion, completion) FROM {_ATTEMPTS}
            WHERE record_hash IN {GIVEN} OR expansion_key IN {GIVEN}
            """,
            {"given": [*{*hashes, *keys}]},
        )
