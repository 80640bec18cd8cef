"""A real MCP server for the tests, run as a program: `http PORT`, or `stdio` and what it lists."""

import json
import os
import sys

import anyio
import mcp_types
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server


async def _three_pages(_: object, params: mcp_types.PaginatedRequestParams | None) -> mcp_types.ListToolsResult:
    page = int(params.cursor) if params and params.cursor else 1
    tool = mcp_types.Tool(
        name=f"tool_{page}",
        description=f"Of page {page}.",
        input_schema={"type": "object", "properties": {"q": {"type": "string"}}},
        annotations=mcp_types.ToolAnnotations(read_only_hint=True, title=f"Tool {page}"),
    )
    return mcp_types.ListToolsResult(tools=[tool], next_cursor=str(page + 1) if page < 3 else None)


async def _two_pages_of_prompts(
    _: object, params: mcp_types.PaginatedRequestParams | None
) -> mcp_types.ListPromptsResult:
    page = int(params.cursor) if params and params.cursor else 1
    argument = mcp_types.PromptArgument(name="repo", description="Which one.", required=True)
    prompt = mcp_types.Prompt(name=f"prompt_{page}", description=f"Of page {page}.", arguments=[argument])
    return mcp_types.ListPromptsResult(prompts=[prompt], next_cursor=str(page + 1) if page < 2 else None)


async def _breaks_off(_: object, params: mcp_types.PaginatedRequestParams | None) -> mcp_types.ListToolsResult:
    if params and params.cursor:
        os._exit(0)
    return await _three_pages(_, params)


async def _one_cursor(_: object, params: mcp_types.PaginatedRequestParams | None) -> mcp_types.ListToolsResult:
    return mcp_types.ListToolsResult(tools=[], next_cursor="same")


async def _environment(_: object, __: mcp_types.PaginatedRequestParams | None) -> mcp_types.ListToolsResult:
    tool = mcp_types.Tool(name="env", description=json.dumps(dict(os.environ)), input_schema={"type": "object"})
    return mcp_types.ListToolsResult(tools=[tool])


def _malformed() -> None:
    """Answers by hand: the SDK's server would not send a tool without a name."""
    for line in sys.stdin:
        asked = json.loads(line)
        if asked.get("method") == "initialize":
            info = {"name": "odd", "version": "1"}
            result: dict[str, object] = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": info,
            }
        elif asked.get("method") == "tools/list":
            result = {"tools": [{"name": 7, "inputSchema": "none"}]}
        else:
            if "id" in asked:  # else the client waits for an answer, 10 s
                error = {"code": mcp_types.METHOD_NOT_FOUND, "message": "no such method"}
                print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)
            continue
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)


async def _serve_stdio(mode: str) -> None:
    modes = {"pages": _three_pages, "breaks-off": _breaks_off, "repeat": _one_cursor, "environment": _environment}
    prompts = _two_pages_of_prompts if mode == "pages" else None
    server = Server("pager", on_list_tools=modes[mode], on_list_prompts=prompts)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def _serve_http(port: int) -> None:
    server = MCPServer("weather")

    @server.tool()
    def forecast(city: str, days: int = 1) -> str:
        """Forecast for a city."""
        return f"{city}: rain for {days}"

    server.run("streamable-http", port=port)


if __name__ == "__main__":
    if sys.argv[1:] == ["stdio", "malformed"]:
        _malformed()
    elif sys.argv[1] == "stdio":
        anyio.run(_serve_stdio, sys.argv[2])
    else:
        _serve_http(int(sys.argv[2]))
