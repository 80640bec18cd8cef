"""A found tool where a model reads a list of them: as JSON, and as a line of text."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from router.provider_formats.compact import signature
from router.provider_formats.formats import Detail, Form, VendorText
from router.provider_formats.rendering import render
from router.record import ToolRecord


def listed_row(record: ToolRecord, detail: Detail, schema_key: str) -> dict[str, Any]:
    """Return a screened record's signature, or its description and, under `schema_key`, its JSON Schema."""
    if detail is Detail.SIGNATURE:
        return {"signature": signature(record, VendorText.VERBATIM)}
    (tool,) = render([record], Form.MCP, detail=detail, vendor_text=VendorText.VERBATIM).tools
    return {"description": tool.get("description", ""), schema_key: tool["inputSchema"]}


def listed_line(row: Mapping[str, Any], first: Iterable[str]) -> str:
    """Return a row for a model to read, and below it what must run first, a line each."""
    shown = {name: value for name, value in row.items() if name != "first"}
    line = row["signature"] if "signature" in row else compact_json(shown)
    return "\n".join([line, *(f"  first: {one}" for one in first)])


def compact_json(value: Any) -> str:
    """Return JSON without spaces, whose letters stay readable."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
