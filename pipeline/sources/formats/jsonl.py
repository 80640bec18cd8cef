"""Read JSONL, one tool per line: `{"id", "name", "provider", "description", "parameters", "category", "examples"}`."""

from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import RecordRejected
from pipeline.sources.formats.function_schema import read_rows
from router.tools.definitions.raw_tool import RawTool


def read(path: Path) -> Iterator[RawTool | RecordRejected]:
    """Yield the tools of a JSONL file. Only name is required; null, {} and missing mean the same. Ids are kept."""
    return read_rows(path, own_id=True)
