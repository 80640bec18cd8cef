"""A real MCP server for the tests whose tools have names with spaces, errors of their own, and change."""

from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError


def weather_server() -> MCPServer:
    """Make the server."""
    server = MCPServer("weather")

    @server.tool()
    def forecast(city: str, days: int = 1) -> str:
        """Weather forecast for a city over the next days."""
        return f"{city}: rain for {days}"

    @server.tool(name="sea level")
    def sea_level(harbour: str) -> str:
        """How high the sea stands in a harbour."""
        return f"{harbour}: 3 m"

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

    return server
