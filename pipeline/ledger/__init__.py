"""The ledger: the build's system of record, one DuckDB file in the workspace, one writer.

Answers are kept by the key of all that made them, vectors by the hash of their text and the key of their model, so a
second build of an unchanged catalog asks nothing and embeds nothing. Nothing that was paid for is ever deleted. Times
are UTC.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.errors import RecordRejected
from pipeline.ledger.accounts import Accounts
from pipeline.ledger.batches import Batch, Batches, BatchRequest
from pipeline.ledger.connection import CONNECTION, LEDGER_FILE, now, registered
from pipeline.records import Catalog
from router.fingerprint import canonical_json

# Vectors read at once, in rows: 25 MB of 384 dimensions.
_ROWS_A_PART = 16_384

__all__ = ["CONNECTION", "LEDGER_FILE", "Batch", "BatchRequest", "Entry", "Ledger"]


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A generator's outcome for one tool: an `expansion` as JSON, or else the `kind` and `message` of its failure."""

    expansion_key: str
    record_hash: str
    tool_id: str
    generator: str
    model: str
    prompt_version: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost_usd: float | None
    expansion: Mapping[str, Any] | None = None
    kind: str = ""
    message: str = ""


class Ledger(Accounts, Batches):
    """The open ledger. Every method commits before it returns."""

    def start_run(self, catalog: str, area: str = "snapshots") -> int:
        """Open a run and return its id; the area tells what is to serve from an experiment."""
        row = self._connection.execute(
            "INSERT INTO runs (run_id, catalog, started_at, outcome, area) "
            "VALUES (nextval('run_ids'), ?, ?, 'running', ?) RETURNING run_id",
            [catalog, now(), area],
        ).fetchall()
        return int(row[0][0])

    def finish_run(
        self, run: int, outcome: str, *, snapshot: str | None, message: str, counts: Mapping[str, Any]
    ) -> None:
        """Close a run: outcome is "published", "unchanged", "held" or "failed"."""
        self._connection.execute(
            "UPDATE runs SET finished_at = ?, outcome = ?, snapshot = ?, message = ?, counts = ? WHERE run_id = ?",
            [now(), outcome, snapshot, message, canonical_json(counts), run],
        )

    def put_catalog(self, run: int, name: str, catalog: Catalog, rejected: Sequence[RecordRejected]) -> None:
        """Keep the records not seen before, and what this run rejected or noticed."""
        self._insert(
            "records",
            {
                "record_hash": [catalog.hashes[r.tool_id] for r in catalog.records],
                "tool_id": [r.tool_id for r in catalog.records],
                "catalog": [name] * len(catalog.records),
                "record": [canonical_json(r.to_json()) for r in catalog.records],
                "first_run": [run] * len(catalog.records),
            },
            unless="t.record_hash = n.record_hash AND t.tool_id = n.tool_id AND t.catalog = n.catalog",
        )
        self._insert(
            "rejections",
            {
                "run_id": [run] * len(rejected),
                "file": [r.origin.file for r in rejected],
                "pointer": [r.origin.pointer for r in rejected],
                "reason": [r.reason for r in rejected],
            },
        )
        notices = catalog.notices
        self._insert(
            "notices",
            {
                "run_id": [run] * len(notices),
                "tool_id": [n.tool_id for n in notices],
                "kind": [n.kind for n in notices],
                "message": [n.message for n in notices],
                "file": [n.origin.file for n in notices],
                "pointer": [n.origin.pointer for n in notices],
            },
        )

    def expansions(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """The answers known for these keys, as JSON; the first that was given, where there are several."""
        wanted = pa.table({"key": pa.array(list(keys), pa.string())})
        with registered(self._connection, wanted) as name:
            rows = self._connection.execute(
                f"SELECT expansion_key, expansion FROM expansions JOIN {name} ON key = expansion_key "
                "ORDER BY run_id DESC"
            ).fetchall()
        return {key: json.loads(text) for key, text in rows}

    def assessment(self, key: str) -> dict[str, Any] | None:
        """What was found when the same texts were assessed before, as JSON."""
        rows = self._connection.execute(
            "SELECT assessment FROM assessments WHERE assessment_key = ? LIMIT 1", [key]
        ).fetchall()
        return json.loads(rows[0][0]) if rows else None

    def put_assessment(self, run: int, key: str, assessment: Mapping[str, Any]) -> None:
        """Keep what an assessment found under the hash of all that it read."""
        self._connection.execute(
            "INSERT INTO assessments VALUES (?, ?, ?, ?)", [key, run, now(), canonical_json(assessment)]
        )

    def put_entries(self, run: int, entries: Sequence[LedgerEntry]) -> None:
        """Keep answers and failures; both say what they cost."""
        answers = [entry for entry in entries if entry.expansion is not None]
        failures = [entry for entry in entries if entry.expansion is None]
        self._insert(
            "expansions",
            {
                **self._entry_columns(run, answers),
                "prompt_version": [entry.prompt_version for entry in answers],
                "expansion": [canonical_json(entry.expansion) for entry in answers],
            },
        )
        self._insert(
            "failures",
            {
                **self._entry_columns(run, failures),
                "kind": [entry.kind for entry in failures],
                # A server may send half of a surrogate pair, which cannot be stored.
                "message": [entry.message.encode("utf-8", "replace").decode("utf-8") for entry in failures],
            },
        )

    @staticmethod
    def _entry_columns(run: int, entries: Sequence[LedgerEntry]) -> dict[str, list[Any]]:
        shared = (
            "expansion_key record_hash tool_id generator model prompt_tokens cached_tokens completion_tokens cost_usd"
        ).split()
        return {
            **{column: [getattr(entry, column) for entry in entries] for column in shared},
            "run_id": [run] * len(entries),
            "created_at": [now()] * len(entries),
        }

    def vectors(self, hashes: Sequence[str], model_key: str, dim: int) -> NDArray[np.float32]:
        """The vectors of these texts, float32 of shape (len(hashes), dim), row by row; read a part at a time, so that
        they are held once. Raises LookupError where one is not known."""
        self._vector_table(dim)
        found = np.empty((len(hashes), dim), np.float32)
        missing = np.ones(len(hashes), np.bool_)
        wanted = pa.table({"hash": pa.array(hashes, pa.string()), "place": pa.array(np.arange(len(hashes)))})
        with registered(self._connection, wanted) as name:
            reader = self._connection.sql(
                f"SELECT place, vector FROM vectors_{dim} JOIN {name} ON hash = text_hash WHERE model_key = ?",
                params=[model_key],
            ).to_arrow_reader(_ROWS_A_PART)
            for part in reader:
                places = part["place"].to_numpy()
                found[places] = np.asarray(part["vector"].flatten(), dtype=np.float32).reshape(-1, dim)
                missing[places] = False
        if missing.any():
            raise LookupError(f"{hashes[int(np.argmax(missing))]} has no vector of {dim} dimensions by {model_key}")
        return found

    def known_vectors(self, hashes: Sequence[str], model_key: str, dim: int) -> set[str]:
        """The hashes among these that the ledger has a vector of this model for."""
        self._vector_table(dim)
        wanted = pa.table({"hash": pa.array(hashes, pa.string())})
        with registered(self._connection, wanted) as name:
            rows = self._connection.execute(
                f"SELECT text_hash FROM vectors_{dim} JOIN {name} ON hash = text_hash WHERE model_key = ?",
                [model_key],
            ).fetchall()
        return {digest for (digest,) in rows}

    def put_vectors(self, hashes: Sequence[str], vectors: NDArray[np.float32], model_key: str) -> None:
        """Keep vectors of texts that the ledger does not have for this model. `vectors` is (len(hashes), dim)."""
        dim = vectors.shape[1]
        self._vector_table(dim)
        self._insert(
            f"vectors_{dim}",
            {
                "text_hash": list(hashes),
                "model_key": [model_key] * len(hashes),
                "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), dim),
            },
        )

    def _vector_table(self, dim: int) -> None:
        self._connection.execute(
            f"CREATE TABLE IF NOT EXISTS vectors_{dim} (text_hash VARCHAR, model_key VARCHAR, vector FLOAT[{int(dim)}])"
        )
