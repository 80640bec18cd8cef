"""Read a saved MCP answer to `tools/list` or `prompts/list`. `transport.mcp_client` reads a live server."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pipeline.errors import RecordRejected, RunAborted
from pipeline.settings import LimitsSettings
from pipeline.sources.formats.document import DEFAULT_LIMITS, read_document
from pipeline.sources.formats.function_schema import listed_tool
from pipeline.sources.formats.mcp_prompts import read_prompts, take_prompts
from pipeline.sources.provider_label import label_of_server
from router.tools.definitions.nesting import find_definitions
from router.tools.definitions.raw_tool import RawTool


def read(path: Path, limits: LimitsSettings = DEFAULT_LIMITS) -> Iterator[RawTool | RecordRejected]:
    """Yield the tools of saved answers: the result, the whole JSON-RPC response, a list of pages, a bare list of tools,
    or the answers of several servers by their names. Prompts are read from a result, a response or a list of pages."""
    document = read_document(path, limits)
    prompts = take_prompts(document)
    found = find_definitions(document)
    if found is None and not prompts:
        raise RunAborted(f"the source {path} is not a saved tools/list answer: it has no list of tools")
    # The tools first: where a tool and a prompt share a name, the tool has the plain id, as from a live server.
    servers = {one.provider for one in found or ()}
    for one in found or ():
        # The names of several servers tell their tools apart: shortened, two could be one.
        short = label_of_server(one.provider) if one.provider and len(servers) == 1 else one.provider
        yield listed_tool(replace(one, provider=short), path.name)
    yield from read_prompts(prompts, path.name, None)
