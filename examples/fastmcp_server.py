"""A FastMCP server whose clients see a search in place of its tools.

    pip install '.[fastmcp]'            (in a checkout of Quartermaster)
    python fastmcp_server.py            a client in this process searches, and calls what it found
    fastmcp run fastmcp_server.py       serves over stdio, for any MCP client

Put your own server in its place: `add_transform` is the only line that it needs.
"""

import asyncio

from fastmcp import Client, FastMCP
from mcp_types import TextContent

from quartermaster.adapters.fastmcp import RouterSearch

mcp = FastMCP("support desk")


@mcp.tool
def refund_charge(charge: str, amount: int | None = None) -> str:
    """Give a customer the money of a charge back, all of it or a part, in cents."""
    return f"refunded {'all' if amount is None else amount} of {charge}"


@mcp.tool
def list_charges(customer: str) -> list[str]:
    """List the charges of a customer, newest first."""
    return [f"ch_2 of {customer}", f"ch_1 of {customer}"]


@mcp.tool
def page_oncall(team: str, message: str) -> str:
    """Page the engineer on call of a team."""
    return f"paged {team}: {message}"


@mcp.tool
def get_forecast(city: str) -> str:
    """Forecast the weather of a city."""
    return f"rain in {city}"


# With the phrases of a build of this server: RouterSearch(Router.open(".quartermaster/snapshots/desk")).
mcp.add_transform(RouterSearch(always_visible=["page_oncall"]))


async def main() -> None:
    """Do what a model does: look at the list, search, call."""
    async with Client(mcp) as client:
        print("listed ", ", ".join(tool.name for tool in await client.list_tools()))
        for request in ("give the customer half of the money back", "play a game of chess"):
            found = await client.call_tool("search_tools", {"request": request})
            print("asked  ", request)
            for part in found.content:
                if isinstance(part, TextContent):
                    print("found  ", part.text.replace("\n", "\n        "))
        refund = {"charge": "ch_2", "amount": 900}
        done = await client.call_tool("call_tool", {"name": "refund_charge", "arguments": refund})
        print("called ", done.data)


if __name__ == "__main__":
    asyncio.run(main())
