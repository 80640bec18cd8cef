"""Questions over the whole ledger, for inspection: runs and their cost, versions of records, attempts of generators."""

from collections.abc import Sequence
from importlib import resources
from typing import Any

import pyarrow as pa

from pipeline.ledger.database import GIVEN, Database

# What each night cost, asked of the tables `builds` and `spending`, which `runs` and `spending` below fill.
NIGHTS = resources.files("pipeline.ledger").joinpath("nights.sql").read_text(encoding="utf-8")
_ATTEMPTS = "(FROM expansions UNION ALL BY NAME FROM failures)"
# The cost of a run: unknown where one of the prices is.
_COST = "CASE WHEN count(*) > count(cost_usd) THEN NULL ELSE coalesce(sum(cost_usd), 0) END"
_RUNS = f"""
    SELECT run_id, area, started_at, finished_at, outcome, snapshot, message,
        CAST(counts ->> 'tools' AS BIGINT) AS tools,
        CAST(counts -> 'asked' AS MAP(VARCHAR, BIGINT)) AS asked,
        CAST(counts ->> 'reused' AS BIGINT) AS reused,
        CAST(counts ->> 'refused' AS BIGINT) AS refused,
        CAST(counts ->> 'embedded' AS BIGINT) AS embedded,
        CASE WHEN paid.run_id IS NULL THEN 0 ELSE paid.cost_usd END AS cost_usd,
        CAST(counts -> 'estimate' ->> 'cost_usd' AS DOUBLE) AS estimated_usd,
        from_json(counts -> 'degraded', '["VARCHAR"]') AS degraded
    FROM runs LEFT JOIN (SELECT run_id, {_COST} AS cost_usd FROM {_ATTEMPTS} GROUP BY run_id) paid USING (run_id)
    WHERE catalog = $catalog ORDER BY run_id
"""
_SPENDING = f"""
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
"""


class History(Database):
    """Questions that are answered as Arrow tables."""

    def runs(self, catalog: str) -> pa.Table:
        """Return the runs of a catalog, in order, with their counts as columns; NULL where a run ended too early.

        Costs are those of its stored answers: they are known of a run that goes on, failed or was killed.
        """
        return self.table(_RUNS, {"catalog": catalog})

    def spending(self, catalog: str) -> pa.Table:
        """Return what each run of a catalog was answered and paid, by provider, generator and model."""
        return self.table(_SPENDING, {"catalog": catalog})

    def nights(self, catalog: str) -> list[dict[str, Any]]:
        """Return what each run of a catalog asked each model and paid, newest first: one row where it asked none."""
        asked = f"WITH builds AS ({_RUNS}), spending AS ({_SPENDING}) {NIGHTS}"
        nights: list[dict[str, Any]] = self.table(asked, {"catalog": catalog}).to_pylist()
        return nights

    def cost(self, run: int) -> float | None:
        """Return the cost of a run in US dollars, also of one that goes on; None where a price is unknown."""
        ((cost,),) = self.rows(f"SELECT {_COST} FROM {_ATTEMPTS} WHERE run_id = ?", [run])
        return None if cost is None else float(cost)

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
