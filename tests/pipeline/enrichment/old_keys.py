"""Give a ledger the keys of the versions that hashed the whole record into the key of a model's answer."""

import json
from pathlib import Path
from typing import Any

import duckdb

from pipeline.enrichment.prompt import PROMPT_VERSION
from pipeline.ledger import LEDGER_FILE
from pipeline.records import Catalog
from router.fingerprint import fingerprint


def old_key(record_hash: str, model: str, extra: dict[str, Any]) -> str:
    """Return the key of an answer as those versions made it."""
    return fingerprint([record_hash, PROMPT_VERSION, "openai", model, extra])


def give_old_keys(workspace: Path, catalog: Catalog, *, with_questions: bool = True) -> dict[str, str]:
    """Rename the keys of a ledger's questions about a catalog; return the old keys by the new ones.

    The first versions kept no texts of questions.
    """
    renamed = {}
    hashes = {record.name: catalog.hashes[record.tool_id] for record in catalog.records}
    with duckdb.connect(str(workspace / LEDGER_FILE)) as connection:
        rows = connection.execute(
            """
            SELECT DISTINCT expansion_key, message, parameters, model FROM questions JOIN (
                SELECT expansion_key, model FROM expansions
                UNION ALL SELECT key, model FROM batch_requests JOIN batches USING (token)
            ) USING (expansion_key)
            """
        ).fetchall()
        for key, text, parameters, model in rows:
            message = json.loads(text)
            extra = json.loads(parameters)
            if siblings := message.get("siblings"):
                extra["siblings"] = [hashes[sibling["name"]] for sibling in siblings]
            old = old_key(hashes[message["tool"]["name"]], model, extra)
            renamed[key] = old
            for table, column in (
                ("expansions", "expansion_key"),
                ("questions", "expansion_key"),
                ("batch_requests", "key"),
            ):
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", [old, key])
        if not with_questions:
            connection.execute("DELETE FROM questions")
    return renamed
