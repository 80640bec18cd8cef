"""A real MCP server over stdio, of the SDK, run as a program: three pages of a tool each, and two of prompts."""

import anyio
import mcp_types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

Asked = mcp_types.PaginatedRequestParams | None


async def _tools(_: object, asked: Asked) -> mcp_types.ListToolsResult:
    page = int(asked.cursor) if asked and asked.cursor else 1
    tool = mcp_types.Tool(
        name=f"tool_{page}",
        description=f"Of page {page}.",
        input_schema={"type": "object", "properties": {"q": {"type": "string"}}},
        annotations=mcp_types.ToolAnnotations(read_only_hint=True, title=f"Tool {page}"),
    )
    return mcp_types.ListToolsResult(tools=[tool], next_cursor=str(page + 1) if page < 3 else None)


async def _prompts(_: object, asked: Asked) -> mcp_types.ListPromptsResult:
    page = int(asked.cursor) if asked and asked.cursor else 1
    argument = mcp_types.PromptArgument(name="repo", description="Which one.", required=True)
    prompt = mcp_types.Prompt(name=f"prompt_{page}", description=f"Of page {page}.", arguments=[argument])
    return mcp_types.ListPromptsResult(prompts=[prompt], next_cursor=str(page + 1) if page < 2 else None)


async def _serve() -> None:
    server = Server("pager", on_list_tools=_tools, on_list_prompts=_prompts)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(_serve)
