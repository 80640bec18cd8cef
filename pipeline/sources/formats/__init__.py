"""Parse the documents of sources into raw tools: each reader is called with `(path, limits, memo)`.

A new format is a reader, a line in READERS and its name in `SourceFormat`; a test holds both equal. `detect` finds the
format of a file that does not say it. `tool_lists` reads lists of definitions, also of any other shape, by
`source.fields`; `openapi` and `skills` read their own formats; `document` parses files, `yaml_values` YAML,
`json_schema` the schemas of API documents.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pipeline.errors import RecordRejected, RunAborted
from pipeline.memo import Memo
from pipeline.settings import LimitsSettings
from pipeline.settings.sources import SourceFormat
from pipeline.sources.formats import openapi, skills, tool_lists
from pipeline.sources.formats.document import DEFAULT_LIMITS, Items, read_document, read_lines, suffix_of
from pipeline.sources.formats.other_kinds import other_document
from router.tools.definitions.nesting import find_definitions

READERS: Mapping[SourceFormat, Callable[[Path, LimitsSettings, Memo], Items]] = {
    "function": tool_lists.read_functions,
    "openapi": lambda path, limits, memo: openapi.read(path, limits),
    "mcp": tool_lists.read_mcp,
    "jsonl": tool_lists.read_jsonl,
    "skills": lambda path, limits, memo: skills.read(path, limits),
}


def detect(path: Path, limits: LimitsSettings = DEFAULT_LIMITS) -> SourceFormat:
    """Return the format of a file or folder, by its content. Raises RunAborted where it is none of the known ones."""
    if skills.is_skill_source(path):
        return "skills"
    if suffix_of(path) == ".jsonl":
        first = next((line for line in read_lines(path, limits) if not isinstance(line, RecordRejected)), None)
        row = first[1] if first else {}
        words = ("function", "input_schema", "inputSchema")
        schema = isinstance(row, dict) and (row.get("type") == "function" or any(word in row for word in words))
        return "function" if schema else "jsonl"
    value = read_document(path, limits)
    if isinstance(value, dict) and ("openapi" in value or "swagger" in value):
        return "openapi"
    if tool_lists.take_prompts(value):
        return "mcp"
    if (tools := find_definitions(value)) is None:
        if other := other_document(value):
            raise RunAborted(f"the source {path} holds no tools: it is {other}")
        raise RunAborted(
            f"the source {path} is in no known format: an OpenAPI or Swagger document, function schemas, "
            f"a saved MCP tools/list answer or JSONL{_keys(value)}. If it holds tools all the same, say where in "
            "catalog.toml, under the [[source]], such as [source.fields] tools = 'data.items'"
        )
    # Only MCP writes the schema's name in camel case; the reader of function schemas takes a single tool.
    named = any(isinstance(tool.row, dict) and "inputSchema" in tool.row and tool.row is not value for tool in tools)
    return "mcp" if named or _is_answer(value) else "function"


def _keys(value: Any) -> str:
    """Return the first keys of an object, as a part of a message."""
    return f"; its keys are {', '.join(map(str, list(value)[:8]))}" if isinstance(value, dict) and value else ""


def _is_answer(value: Any) -> bool:
    """Return whether a value has a shape that only saved MCP answers have: JSON-RPC's, or a list of pages."""
    rows = value if isinstance(value, list) else [value]
    pages = [row.get("result", row) for row in rows if isinstance(row, dict) and not ("name" in row and "tools" in row)]
    answer = isinstance(value, list) or (isinstance(value, dict) and "result" in value)
    return answer and bool(rows) and len(pages) == len(rows) and all("tools" in page for page in pages)
