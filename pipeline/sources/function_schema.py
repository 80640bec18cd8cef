"""Function schemas as OpenAI and Anthropic take them.

Bare `{"name", "description", "parameters"}`, Anthropic's `{"name", "description", "input_schema"}`, OpenAI's
`{"type": "function", "function": {…}}` and its flat Responses form; a JSON list, an object with `tools` or
`functions`, a single schema, or one schema a line.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.errors import RecordRejected, RunAborted
from pipeline.sources.document import read_document, read_lines
from router.definitions.raw_tool import RawTool
from router.definitions.vendors import function_tool
from router.record import Origin


def read(path: Path) -> Iterator[RawTool | RecordRejected]:
    """Tools of a JSON or JSONL file of function schemas. Raises RunAborted where the file holds no such thing."""
    rows = read_lines(path) if path.suffix.lower() == ".jsonl" else _entries(path)
    for item in rows:
        if isinstance(item, RecordRejected):
            yield item
            continue
        origin, row = item
        try:
            yield function_tool(row, origin)
        except RecordRejected as rejected:
            yield rejected


def _entries(path: Path) -> Iterator[tuple[Origin, Any]]:
    value = read_document(path)
    pointer = ""
    if isinstance(value, dict):
        key = next((key for key in ("tools", "functions") if isinstance(value.get(key), list)), None)
        if key is not None:
            value, pointer = value[key], f"/{key}"
        elif "name" in value or "function" in value:
            value = [value]
    if not isinstance(value, list):
        raise RunAborted(f"the source {path} holds no function schemas: expected a list, or an object with `tools`")
    for index, row in enumerate(value):
        yield Origin(path.name, f"{pointer}/{index}"), row
