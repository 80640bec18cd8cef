"""Read JSONL, one tool per line: `{"id", "name", "provider", "description", "parameters", "category", "examples"}`."""

from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import RecordRejected
from pipeline.settings import LimitsSettings
from pipeline.sources.formats.document import DEFAULT_LIMITS
from pipeline.sources.formats.function_schema import read_rows
from router.tools.definitions.raw_tool import RawTool


def read(path: Path, limits: LimitsSettings = DEFAULT_LIMITS) -> Iterator[RawTool | RecordRejected]:
    """Yield the tools of a JSONL file. Only name is required; null, {} and missing mean the same. Ids are kept."""
    return read_rows(path, limits, own_id=True)
