"""The keys of questions that were answered, or that an open batch holds: neither is paid for again."""

from collections.abc import Iterable, Sequence

import pyarrow as pa

from pipeline.ledger.answers import LedgerQuestion, storable
from pipeline.ledger.connection import LedgerFile, arrow_table_name
from router.fingerprint import canonical_json, fingerprint

# Answers, and questions of batches that are not settled.
_STORED = """
    SELECT expansion_key, generator, model, prompt_version, created_at FROM expansions
    UNION ALL
    SELECT key, 'openai', model, prompt_version, created_at
    FROM batch_requests JOIN batches USING (token) WHERE outcome IS NULL
"""


class KeyQueries(LedgerFile):
    """Looks up questions by their keys and by their texts."""

    def stored_keys(self, keys: Iterable[str]) -> set[str]:
        """Return those of these keys that have an answer, or a question in an open batch."""
        wanted_keys = pa.table({"key": pa.array(list(keys), pa.string())})
        with arrow_table_name(self._connection, wanted_keys) as name:
            rows = self._connection.execute(
                f"SELECT key FROM {name} SEMI JOIN ({_STORED}) ON expansion_key = key"
            ).fetchall()
        return {key for (key,) in rows}

    def equal_questions(self, questions: Sequence[LedgerQuestion], generator: str, model: str) -> dict[str, str]:
        """Return the keys under which questions of the same texts were answered or batched, by these questions' keys.

        Of several such keys the earliest counts. A question whose text was not kept is not found.
        """
        if not questions:
            return {}
        hashes = {text: fingerprint(text) for text in {question.instructions for question in questions}}
        texts = pa.table(
            {
                "key": [question.expansion_key for question in questions],
                "version": [question.prompt_version for question in questions],
                "instructions": [hashes[question.instructions] for question in questions],
                "said": [storable(question.message) for question in questions],
                "settings": [canonical_json(dict(question.parameters)) for question in questions],
            }
        )
        with arrow_table_name(self._connection, texts) as name:
            rows = self._connection.execute(
                f"""
                SELECT key, arg_min(expansion_key, stored.created_at)
                FROM {name}
                JOIN questions ON message = said AND parameters::VARCHAR = settings
                    AND instructions_hash = instructions
                JOIN ({_STORED}) stored USING (expansion_key)
                WHERE generator = ? AND model = ? AND prompt_version = version
                GROUP BY key
                """,
                [generator, model],
            ).fetchall()
        return dict(rows)
