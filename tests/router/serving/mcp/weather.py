"""A real MCP server for the tests, as a program: `stdio`, or `http PORT`."""

import os
import sys
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("weather")


@server.tool()
def forecast(city: str, days: int = 1) -> str:
    """Weather forecast for a city over the next days."""
    return f"{city}: rain for {days}"


@server.tool(name="sea level")
def sea_level(harbour: str) -> str:
    """How high the sea stands in a harbour."""
    return f"{harbour}: {os.getpid()}"


@server.tool()
def storm(city: str) -> str:
    """Storm warnings for a city."""
    raise ToolError(f"no radar over {city}")


@server.tool()
async def grow(context: Context[Any]) -> str:
    """Open the observatory, which then offers its own instruments."""

    def eclipse(year: int) -> str:
        """Solar eclipses of a year, and where they are seen."""
        return f"{year}: none"

    server.add_tool(eclipse)
    await context.notify_tools_changed()
    return "open"


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", port=int(sys.argv[2]))
