"""MCP: a saved `tools/list` answer. A live server is read by `mcp_client`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.errors import RecordRejected, RunAborted
from pipeline.sources.document import read_document
from router.definitions.raw_tool import RawTool
from router.definitions.vendors import mcp_tool
from router.record import Origin


def read(path: Path) -> Iterator[RawTool | RecordRejected]:
    """Tools of a saved answer: the result, the whole JSON-RPC response, a list of pages, or a bare list of tools."""
    value = read_document(path)
    server = _server_name(value)
    for pointer, row in _saved(value, path):
        yield _tool(row, Origin(path.name, pointer), server)


def pages(value: Any) -> list[tuple[str, list[Any]]] | None:
    """The lists of tools in a saved answer, each with its JSON pointer; None where it is no such answer.

    An answer is a page (`{"tools": […]}`), a JSON-RPC response around one, or a list of either.
    """
    listed = [(f"/{number}", page) for number, page in enumerate(value)] if isinstance(value, list) else [("", value)]
    found = []
    for pointer, page in listed:
        if isinstance(page, dict) and isinstance(page.get("result"), dict):
            pointer, page = f"{pointer}/result", page["result"]
        if not isinstance(page, dict) or not isinstance(page.get("tools"), list):
            return None
        found.append((f"{pointer}/tools", page["tools"]))
    return found or None


def _saved(value: Any, path: Path) -> Iterator[tuple[str, Any]]:
    found = pages(value)
    if found is None and isinstance(value, list) and not any("tools" in row for row in value if isinstance(row, dict)):
        found = [("", value)]  # tools alone
    if found is None:
        raise RunAborted(f"the source {path} is not a saved tools/list answer: it has no list of tools")
    for pointer, tools in found:
        for index, row in enumerate(tools):
            yield f"{pointer}/{index}", row


def _server_name(value: Any) -> str | None:
    """Some recorders keep the `serverInfo` of the handshake beside the answer."""
    info = value.get("serverInfo") if isinstance(value, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else None


def _tool(row: object, origin: Origin, server: str | None) -> RawTool | RecordRejected:
    try:
        return mcp_tool(row, origin, server)
    except RecordRejected as rejected:
        return rejected
