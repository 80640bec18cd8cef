"""Which format a file has, for sources that do not say."""

from pathlib import Path
from typing import Any, Literal

from pipeline.errors import RecordRejected, RunAborted
from pipeline.sources.document import read_document, read_lines

Format = Literal["function", "openapi", "mcp", "jsonl"]


def detect(path: Path) -> Format:
    """The format, by content. Raises RunAborted where the content is none of the known ones."""
    if path.suffix.lower() == ".jsonl":
        first = next((line for line in read_lines(path) if not isinstance(line, RecordRejected)), None)
        row = first[1] if first else {}
        schema = isinstance(row, dict) and ("function" in row or "input_schema" in row or row.get("type") == "function")
        return "function" if schema else "jsonl"
    value = read_document(path)
    if isinstance(value, dict) and ("openapi" in value or "swagger" in value):
        return "openapi"
    tools = _tools(value)
    if tools is None:
        raise RunAborted(
            f"the source {path} is no known format: an OpenAPI or Swagger document, function schemas, "
            "a saved MCP tools/list answer or JSONL"
        )
    # MCP alone writes the schema's name in camel case.
    return "mcp" if any(isinstance(tool, dict) and "inputSchema" in tool for tool in tools) else "function"


def _tools(value: Any) -> list[Any] | None:
    if isinstance(value, dict) and isinstance(value.get("result"), dict):
        value = value["result"]
    if isinstance(value, dict):
        if "name" in value or "function" in value:
            return [value]
        value = value.get("tools", value.get("functions"))
    if isinstance(value, list) and value and isinstance(value[0], dict) and isinstance(value[0].get("tools"), list):
        value = value[0]["tools"]
    return value if isinstance(value, list) else None
