"""A FastMCP server of a support desk: the tools that the tests search."""

from fastmcp import FastMCP


def refund_charge(charge: str, amount: int | None = None) -> str:
    """Give a customer the money of a charge back, all of it or a part."""
    return f"refunded {charge}: {'all' if amount is None else amount}"


def list_invoices(customer: str, year: int = 2026) -> list[str]:
    """List the invoices of a customer."""
    return [f"{customer} {year}"]


def page_oncall(team: str) -> str:
    """Page the engineer on call of a team."""
    return f"paged {team}"


def get_forecast(city: str) -> str:
    """Forecast the weather of a city."""
    return f"rain in {city}"


FUNCTIONS = (refund_charge, list_invoices, page_oncall, get_forecast)


def desk() -> FastMCP:
    """Return a server of these tools, without a search."""
    server = FastMCP("desk")
    for function in FUNCTIONS:
        server.tool(function)
    return server
