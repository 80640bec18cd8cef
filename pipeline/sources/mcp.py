"""MCP: a saved `tools/list` answer. A live server is read by `mcp_client`."""

from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import RecordRejected, RunAborted
from pipeline.sources.document import read_document
from pipeline.sources.function_schema import tool
from router.definitions.nesting import listed
from router.definitions.raw_tool import RawTool


def read(path: Path) -> Iterator[RawTool | RecordRejected]:
    """Yield the tools of saved answers: the result, the whole JSON-RPC response, a list of pages, a bare list of tools,
    or the answers of several servers by their names."""
    found = listed(read_document(path))
    if found is None:
        raise RunAborted(f"the source {path} is not a saved tools/list answer: it has no list of tools")
    for one in found:
        yield tool(one, path.name)
