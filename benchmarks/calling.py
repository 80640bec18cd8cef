"""Measure what a call costs: an API's operation beside a bare httpx2 request, an MCP tool with and without the gateway.

`python -m benchmarks.calling [--rounds 300] [--json FILE] [--against STORED]`

All servers are processes on loopback that answer at once, so the difference between two ways is the call's own. The
ways take turns, round by round, so that a neighbour's load falls on all of them.
"""

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.server.mcpserver import MCPServer

from benchmarks.support.measuring import about, on_one_thread, percentiles, report
from router import Router
from router.calling import ApiCalls, CallSettings, ProviderCalls
from router.operation import Operation, OperationParameter
from router.record import ToolRecord
from router.serving.http import HttpSettings
from router.serving.mcp import Upstream, server
from router.serving.mcp.http import http_app
from router.serving.mcp.stdio import serve_stdio

WARM_UP = 20
SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
ITEM = ToolRecord(
    tool_id="shop/item",
    provider="shop",
    name="item",
    description="Read an item.",
    input_schema=SCHEMA,
    operation=Operation("GET", "/items/{id}", parameters=(OperationParameter("id", "path"),)),
)
Way = Callable[[], Awaitable[object]]


async def measure(rounds: int) -> dict[str, Any]:
    """Return milliseconds by way."""
    async with AsyncExitStack() as stack:
        ways = {**await _api_ways(stack), **await _mcp_ways(stack)}
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(WARM_UP + rounds):
            for name, way in ways.items():
                begun = time.perf_counter()
                await way()
                if number >= WARM_UP:
                    taken[name].append(time.perf_counter() - begun)
    return {"ms": {name: percentiles(laps) for name, laps in taken.items()}}


async def _api_ways(stack: AsyncExitStack) -> Mapping[str, Way]:
    url = stack.enter_context(_listening("api"))
    calls = ApiCalls(CallSettings({"shop": ProviderCalls(base_url=url)}))
    kept = await stack.enter_async_context(httpx2.AsyncClient())
    transport_tls = httpx2.create_ssl_context()  # reading the authorities anew would take longer than a request

    async def anew() -> None:
        async with httpx2.AsyncClient(verify=transport_tls) as client:
            (await client.get(f"{url}/items/7")).json()

    async def again() -> None:
        (await kept.get(f"{url}/items/7")).json()

    async def called() -> None:
        assert (await calls.call(ITEM, {"id": "7"})).value == {"id": "7"}

    return {"httpx2, a new connection": anew, "httpx2, a kept connection": again, "a call": called}


async def _mcp_ways(stack: AsyncExitStack) -> Mapping[str, Way]:
    upstream_url = stack.enter_context(_listening("mcp"))
    gateway_url = stack.enter_context(_listening("gateway", f"{upstream_url}/mcp"))
    direct: dict[str, Any] = {"stdio": _command("mcp", "stdio"), "HTTP": f"{upstream_url}/mcp"}
    through: dict[str, Any] = {"stdio": _command("gateway", "stdio", "stdio"), "HTTP": f"{gateway_url}/mcp"}

    def way(client: Client, tool: str, arguments: dict[str, Any]) -> Way:
        async def called() -> None:
            answer = await client.call_tool(tool, arguments)
            assert not answer.is_error, answer

        return called

    ways = {}
    for name in direct:
        client = await stack.enter_async_context(_client(direct[name]))
        ways[f"MCP over {name}, direct"] = way(client, "item", {"id": "7"})
        client = await stack.enter_async_context(_client(through[name]))
        ways[f"MCP over {name}, gateway"] = way(client, "call_tool", {"tool_id": "shop/item", "arguments": {"id": "7"}})
    return ways


@asynccontextmanager
async def _client(target: Any) -> AsyncIterator[Client]:
    async with Client(target) as client:
        yield client


def _command(*arguments: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=["-m", "benchmarks.calling", "--serve", *arguments], env=dict(os.environ)
    )


@contextmanager
def _listening(*arguments: str) -> Iterator[str]:
    """Start a server of this module at a free port, and return its address once it listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "benchmarks.calling", "--serve", arguments[0], str(port), *arguments[1:]]
    with subprocess.Popen(command) as program:
        try:
            while True:
                assert program.poll() is None, "the server ended"
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            program.terminate()


def serve(kind: str, place: str, upstream: str = "") -> None:
    """Run one of the servers: `place` is a port, or "stdio". `upstream` is what a gateway calls: a URL, or "stdio"."""
    if kind == "api":
        uvicorn.run(_api, port=int(place), log_level="warning")
    elif kind == "mcp":
        shop = MCPServer("shop")
        shop.tool()(item)
        if place == "stdio":
            shop.run("stdio")
        else:
            uvicorn.run(shop.streamable_http_app(), port=int(place), log_level="warning")
    else:
        behind = (
            Upstream(
                "shop",
                command=(sys.executable, "-m", "benchmarks.calling", "--serve", "mcp", "stdio"),
                provider="shop",
                environment=dict(os.environ),
            )
            if upstream == "stdio"
            else Upstream("shop", url=upstream, provider="shop")
        )
        with Router.from_tools([ITEM], encoder=None) as router:
            served = server(router, [behind])
            if place == "stdio":
                serve_stdio(served)
            else:
                uvicorn.run(http_app(served, HttpSettings(port=int(place))), port=int(place), log_level="warning")


def item(id: str) -> str:
    """Read an item."""
    return id


async def _api(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    body = b'{"id": "' + scope["path"].rpartition("/")[2].encode() + b'"}'
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": body})


def main() -> None:
    """Measure, or run a server for the measurement."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=300)
    arguments.add_argument("--json", type=Path)
    arguments.add_argument("--against", type=Path, metavar="STORED", help="a stored run, to print ratios to")
    arguments.add_argument("--serve", nargs="+", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.serve:
        serve(*options.serve)
        return
    on_one_thread()
    found = about()
    report("Calls", found, asyncio.run(measure(options.rounds)), options.json, options.against)


if __name__ == "__main__":
    main()
