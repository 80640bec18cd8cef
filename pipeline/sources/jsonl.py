"""Generic JSONL: one tool a line, `{"id", "name", "provider", "description", "parameters", "category", "examples"}`."""

from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import RecordRejected
from pipeline.sources.document import read_lines
from router.definitions.raw_tool import Fields, RawTool


def read(path: Path) -> Iterator[RawTool | RecordRejected]:
    """Tools of a JSONL file. Only name is required; null, {} and missing mean the same."""
    for line in read_lines(path):
        if isinstance(line, RecordRejected):
            yield line
            continue
        origin, row = line
        try:
            fields = Fields(row, origin)
            yield RawTool(
                name=fields.name(),
                origin=origin,
                description=fields.text("description"),
                input_schema=fields.mapping("parameters"),
                id=fields.text("id").strip() or None,
                provider=fields.text("provider") or None,
                examples=fields.texts("examples"),
                categories=fields.texts("category") + fields.texts("categories"),
                annotations=fields.mapping("annotations"),
                deprecated=fields.row.get("deprecated") is True,
            )
        except RecordRejected as rejected:
            yield rejected
