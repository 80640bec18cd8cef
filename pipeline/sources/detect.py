"""Which format a file has, for sources that do not say."""

from pathlib import Path
from typing import Any, Literal

from pipeline.errors import RecordRejected, RunAborted
from pipeline.sources.document import read_document, read_lines
from pipeline.sources.mcp import pages

Format = Literal["function", "openapi", "mcp", "jsonl"]


def detect(path: Path) -> Format:
    """The format, by content. Raises RunAborted where the content is none of the known ones."""
    if path.suffix.lower() == ".jsonl":
        first = next((line for line in read_lines(path) if not isinstance(line, RecordRejected)), None)
        row = first[1] if first else {}
        words = ("function", "input_schema", "inputSchema")
        schema = isinstance(row, dict) and (row.get("type") == "function" or any(word in row for word in words))
        return "function" if schema else "jsonl"
    value = read_document(path)
    if isinstance(value, dict) and ("openapi" in value or "swagger" in value):
        return "openapi"
    if _is_answer(value):
        return "mcp"
    tools = _tools(value)
    if tools is None:
        raise RunAborted(
            f"the source {path} is no known format: an OpenAPI or Swagger document, function schemas, "
            "a saved MCP tools/list answer or JSONL"
        )
    # MCP alone writes the schema's name in camel case.
    return "mcp" if any(isinstance(tool, dict) and "inputSchema" in tool for tool in tools) else "function"


def _is_answer(value: Any) -> bool:
    """Whether it has a shape that only a saved MCP answer has: JSON-RPC's, or a list of pages."""
    return (isinstance(value, list) or (isinstance(value, dict) and "result" in value)) and pages(value) is not None


def _tools(value: Any) -> list[Any] | None:
    if not isinstance(value, dict):
        return value if isinstance(value, list) else None
    listed = next((value[key] for key in ("tools", "functions") if isinstance(value.get(key), list)), None)
    # A single tool, in whichever form: the reader of function schemas takes it.
    return [] if listed is None and ("name" in value or "function" in value) else listed
