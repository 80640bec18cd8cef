"""An MCP server over stdio in plain Python, which starts at once: run as a program, with what it lists."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any


def pages(cursor: str | None) -> dict[str, Any]:
    """Three pages of a tool each."""
    page = int(cursor or 1)
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    tool = {"name": f"tool_{page}", "description": f"Of page {page}.", "inputSchema": schema}
    return {"tools": [tool], **({"nextCursor": str(page + 1)} if page < 3 else {})}


def breaks_off(cursor: str | None) -> dict[str, Any]:
    """The first page, and no other."""
    return pages(cursor) if cursor is None else os._exit(0)


def environment(_: str | None) -> dict[str, Any]:
    """One tool, described by what the server sees of the environment."""
    return {"tools": [{"name": "env", "description": json.dumps(dict(os.environ)), "inputSchema": {"type": "object"}}]}


def bad_rows(cursor: str | None) -> dict[str, Any]:
    """Two pages, the first with rows that MCP does not know, the last with an empty cursor."""
    schema: dict[str, Any] = {"type": "object"}
    if cursor:
        return {"tools": [{"name": "read", "inputSchema": schema}], "nextCursor": ""}
    bad = [{"name": "no_schema"}, {"name": "null_schema", "inputSchema": None}, {"name": 7, "inputSchema": schema}, "x"]
    bad += [{"name": "empty_schema", "inputSchema": {}}, {"name": "a_list", "inputSchema": {"type": "array"}}]
    return {"tools": [{"name": "send", "inputSchema": schema}, *bad], "nextCursor": "2"}


LISTS: dict[str, Callable[[str | None], dict[str, Any]]] = {
    "pages": pages,
    "breaks-off": breaks_off,
    "environment": environment,
    "repeat": lambda _: {"tools": [], "nextCursor": "same"},
    "malformed": lambda _: {"tools": "none"},
    "bad-rows": bad_rows,
}

if __name__ == "__main__":
    PROMPTS: dict[str, Any] = {"prompts": {}} if sys.argv[1] == "bad-rows" else {}
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        answer: dict[str, Any] = {"error": {"code": -32601, "message": "no such method"}}
        if asked["method"] == "initialize":
            info = {"name": "plain", "version": "1"}
            answer = {
                "result": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}, **PROMPTS},
                    "serverInfo": info,
                }
            }
        elif asked["method"] == "prompts/list":
            answer = {"result": {"prompts": [{"title": "nameless"}, {"name": "review"}]}}
        elif asked["method"] == "tools/list":
            answer = {"result": LISTS[sys.argv[1]]((asked.get("params") or {}).get("cursor"))}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
