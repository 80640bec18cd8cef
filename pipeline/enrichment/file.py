"""Expansions that were written beforehand: `expansions.jsonl`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Any

from pipeline.enrichment.generator import (
    NEVER,
    GeneratedExpansion,
    GenerationFailure,
    Outcome,
    Question,
    TokenUsage,
    record_key,
)
from pipeline.errors import RecordRejected
from pipeline.sources.formats.document import read_lines
from router.expansion import Expansion
from router.fingerprint import fingerprint
from router.record import Origin, ToolRecord


class FileGenerator:
    """Reads a file of one JSON object for each tool.

    Its keys are "id", "when_to_use", "user_phrases", "synonyms", "related_concepts" and "task_categories", and
    where there are any "translations" (`{"de": […]}`), "requires" and "provides".
    """

    name = "file"
    accepts_siblings = False
    unclaimed = TokenUsage()

    def __init__(self, path: Path) -> None:
        """Read the file; bad lines go to `rejected`. Raises RunAborted where the file cannot be read."""
        self.model = path.name
        self.rejected: list[RecordRejected] = []
        self._rows: dict[str, dict[str, Any]] = {}
        for line in read_lines(path):
            if isinstance(line, RecordRejected):
                self.rejected.append(line)
                continue
            origin, row = line
            if not isinstance(row, dict) or not isinstance(row.get("id"), str):
                self.rejected.append(RecordRejected(origin, "an expansion is an object with the id of its tool"))
            elif row["id"] in self._rows:
                self.rejected.append(RecordRejected(origin, f"{row['id']} has an expansion already: the first is kept"))
            else:
                self._rows[row["id"]] = row

    def unknown(self, tool_ids: frozenset[str]) -> list[RecordRejected]:
        """Return a rejection for each expansion of a tool that is not among these."""
        return [
            RecordRejected(Origin(self.model, tool_id), "the catalog does not have this tool")
            for tool_id in self._rows
            if tool_id not in tool_ids
        ]

    def question(self, record: ToolRecord, record_hash: str, siblings: Sequence[ToolRecord] = ()) -> Question | None:
        """Return a question whose key holds the hash of the tool's line, so that an edited line is a new answer."""
        row = self._rows.get(record.tool_id)
        if row is None:
            return None
        return Question(record_key(self.name, self.model, record_hash, {"line": fingerprint(row)}), record)

    def generate(self, questions: Sequence[Question], stop: Event = NEVER) -> Iterator[Sequence[Outcome]]:
        """Yield the expansions of these records."""
        yield [self._outcome(question.record.tool_id) for question in questions]

    def _outcome(self, tool_id: str) -> Outcome:
        try:
            return GeneratedExpansion(tool_id, Expansion.from_json(self._rows[tool_id]))
        except ValueError as error:
            return GenerationFailure(tool_id, "shape", str(error))
