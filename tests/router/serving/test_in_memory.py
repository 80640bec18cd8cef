"""Servers over a router in memory."""

import asyncio

import pytest
from mcp import Client

from router import Router
from router.serving.mcp import server
from tests.router.serving.conftest import Ask


def create_refund(charge: str) -> str:
    """Give a customer the money of a charge back."""
    return charge


def get_forecast(city: str) -> str:
    """Forecast the weather of a city."""
    return city


@pytest.fixture
def in_memory() -> Router:
    return Router.from_tools([create_refund, get_forecast], provider="shop", encoder=None)


def test_the_http_api_and_the_pages_serve_it(client_of: Ask, in_memory: Router) -> None:
    client = client_of(in_memory)
    answer = client.post("/v1/route", json={"request": "refund a charge"}).json()
    assert answer["tools"][0]["tool_id"] == "shop/create_refund"
    assert answer["snapshot"] == in_memory.manifest.snapshot
    status = client.get("/v1/snapshot").json()
    assert (status["catalog"], status["encoder"], status["token_counter"]) == ("memory", None, "estimate")
    assert client.get("/readyz").status_code == 200
    for path in ("/", "/?request=refund", "/tools", "/tools/shop/create_refund", "/metrics"):
        assert client.get(path).status_code == 200, path


def test_the_mcp_server_finds_its_tools(in_memory: Router) -> None:
    async def ask() -> str:
        async with Client(server(in_memory)) as client:
            return str(await client.call_tool("find_tools", {"request": "refund a charge"}))

    assert "shop/create_refund" in asyncio.run(ask())
