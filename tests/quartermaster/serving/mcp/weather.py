"""A real MCP server for the tests whose tools have names with spaces and errors of their own."""

from mcp.server.mcpserver import MCPServer
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

    return server
