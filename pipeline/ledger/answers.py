"""Answers and failures of generators, and assessments of whole catalogs."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pipeline.ledger.connection import LedgerFile, arrow_table_name, utc_now
from pipeline.ledger.schema import transaction
from router.fingerprint import canonical_json, fingerprint


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A generator's outcome for one tool: an `expansion` as JSON, or the `kind` and `message` of its failure.

    `completion` is the text that a model wrote, empty where none did.
    """

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
    completion: str = ""


@dataclass(frozen=True, slots=True)
class LedgerQuestion:
    """What a model is asked about one tool: the system message `instructions`, then the user's `message`."""

    expansion_key: str
    prompt_version: int
    instructions: str
    message: str
    parameters: Mapping[str, Any]


class AnswerTables(LedgerFile):
    """The tables of questions, expansions, failures and assessments."""

    def expansions(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the stored answers to these keys, as JSON; the earliest where a key has several."""
        wanted_keys = pa.table({"key": pa.array(list(keys), pa.string())})
        with arrow_table_name(self._connection, wanted_keys) as name:
            rows = self._connection.execute(
                f"SELECT expansion_key, expansion FROM expansions JOIN {name} ON key = expansion_key "
                "ORDER BY run_id DESC"
            ).fetchall()
        return {key: json.loads(text) for key, text in rows}

    def assessment(self, key: str) -> dict[str, Any] | None:
        """Return the stored assessment of the same texts, as JSON; None if there is none."""
        rows = self._connection.execute(
            "SELECT assessment FROM assessments WHERE assessment_key = ? LIMIT 1", [key]
        ).fetchall()
        return json.loads(rows[0][0]) if rows else None

    def put_assessment(self, run: int, key: str, assessment: Mapping[str, Any]) -> None:
        """Store an assessment under the hash of everything that it read."""
        self._connection.execute(
            "INSERT INTO assessments VALUES (?, ?, ?, ?)", [key, run, utc_now(), canonical_json(assessment)]
        )

    def put_entries(self, run: int, entries: Sequence[LedgerEntry]) -> None:
        """Store answers and failures with what they cost: all of them, or none where that fails."""
        answers = [entry for entry in entries if entry.expansion is not None]
        failures = [entry for entry in entries if entry.expansion is None]
        with transaction(self._connection):
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
                    "message": [storable(entry.message) for entry in failures],
                },
            )
        self._stored()

    def put_questions(self, run: int, questions: Sequence[LedgerQuestion]) -> None:
        """Store questions that are not stored yet, and their instructions."""
        questions = list({question.expansion_key: question for question in questions}.values())
        hashes = {question.instructions: fingerprint(question.instructions) for question in questions}
        versions = {question.instructions: question.prompt_version for question in questions}
        self._insert(
            "instructions",
            {
                "instructions_hash": list(hashes.values()),
                "prompt_version": list(versions.values()),
                "instructions": list(hashes),
                "run_id": [run] * len(hashes),
            },
            unless="t.instructions_hash = n.instructions_hash",
        )
        self._insert(
            "questions",
            {
                "expansion_key": [question.expansion_key for question in questions],
                "instructions_hash": [hashes[question.instructions] for question in questions],
                "message": [storable(question.message) for question in questions],
                "parameters": [canonical_json(dict(question.parameters)) for question in questions],
                "run_id": [run] * len(questions),
                "created_at": [utc_now()] * len(questions),
            },
            unless="t.expansion_key = n.expansion_key",
        )

    @staticmethod
    def _entry_columns(run: int, entries: Sequence[LedgerEntry]) -> dict[str, list[Any]]:
        columns = (
            "expansion_key record_hash tool_id generator model prompt_tokens cached_tokens completion_tokens cost_usd"
        ).split()
        return {
            **{column: [getattr(entry, column) for entry in entries] for column in columns},
            "completion": pa.array([storable(entry.completion) or None for entry in entries], pa.string()),
            "run_id": [run] * len(entries),
            "created_at": [utc_now()] * len(entries),
        }


def storable(text: str) -> str:
    """Return a text without halves of surrogate pairs, which a server may send and no file can store."""
    return text.encode("utf-8", "replace").decode("utf-8")
