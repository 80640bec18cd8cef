"""Answers that models gave about a catalog's tools before, whatever they were asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pipeline.ledger.connection import LedgerFile, arrow_table_name

# An answer belongs to a catalog if its record does, or the run that paid for it: a batch may be collected by another's.
_OF_CATALOG = """
    FROM expansions LEFT JOIN runs USING (run_id)
    WHERE generator NOT IN ('file', 'lexicon') AND (runs.catalog = $catalog OR EXISTS (
        FROM records WHERE records.catalog = $catalog
            AND records.tool_id = expansions.tool_id AND records.record_hash = expansions.record_hash))
"""


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """An answer of a model, as JSON, with what it was asked about and when.

    `beside_siblings` tells whether the question showed siblings; False too where the question was not kept.
    """

    expansion_key: str
    tool_id: str
    record_hash: str
    generator: str
    model: str
    prompt_version: int
    run: int
    beside_siblings: bool
    expansion: str


class EarlierQueries(LedgerFile):
    """Looks up what models wrote about tools."""

    def has_model_answers(self, catalog: str) -> bool:
        """Return whether a model ever answered about a tool of a catalog."""
        row = self._connection.execute(f"SELECT count(*) FROM (SELECT 1 {_OF_CATALOG} LIMIT 1)", {"catalog": catalog})
        return bool(row.fetchall()[0][0])

    def earlier_answers(self, catalog: str, tool_ids: Sequence[str]) -> list[EarlierAnswer]:
        """Return all answers of models about these tools of a catalog, the newest first by run: the clock may jump."""
        wanted_ids = pa.table({"wanted": pa.array(tool_ids, pa.string())})
        with arrow_table_name(self._connection, wanted_ids) as name:
            rows: list[tuple[Any, ...]] = self._connection.execute(
                f"""
                SELECT expansion_key, tool_id, record_hash, generator, model, prompt_version, expansions.run_id,
                    coalesce((
                        SELECT bool_or(json_extract(message, '$.siblings') IS NOT NULL)
                        FROM questions WHERE questions.expansion_key = expansions.expansion_key
                    ), false),
                    expansion::VARCHAR
                {_OF_CATALOG} AND tool_id IN (SELECT wanted FROM {name})
                ORDER BY expansions.run_id DESC, expansions.created_at DESC, expansion_key
                """,
                {"catalog": catalog},
            ).fetchall()
        return [EarlierAnswer(*row) for row in rows]
