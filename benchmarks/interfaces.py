"""Measure what each interface adds to a route, and how many tokens its answers take:
`python -m benchmarks.interfaces SNAPSHOT`.

Each request is asked by every way in turn, one at a time, so that a neighbour's load falls on all of them:
`Router.route`, `POST /v1/route` on loopback, then find_tools of the MCP server in this process, over stdio and over
streamable HTTP on loopback.
Tokens are those of the text that find_tools answers, five tools, by detail; of what `tools/list` says; and, beside
them, of the five tools in OpenAI's form. Counted as a build counts (`pipeline.tokens`).
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from benchmarks.support.measuring import about, on_one_thread, percentiles, report
from benchmarks.support.timed_requests import own_requests
from pipeline.tokens import TokenCounter
from router import Router
from router.provider_formats import Detail
from router.serving.mcp import server
from router.snapshot.snapshot import Snapshot

WARM_UP, K = 10, 5
_SERVE = ["-c", "from flows.cli.main import main; main()", "serve"]


async def measure(snapshot: Path, requests: Sequence[str]) -> dict[str, Any]:
    """Milliseconds by way, and tokens of an answer by detail."""
    taken: dict[str, list[float]] = {}
    with Router.open(snapshot) as router, _serving(snapshot, "http") as url, httpx2.Client(base_url=url) as api:
        async with _clients(snapshot, router) as clients:
            for number, request in enumerate(requests):
                begun = time.perf_counter()
                router.route(request, k=K)
                laps = {"Router.route": time.perf_counter() - begun}
                begun = time.perf_counter()
                api.post("/v1/route", json={"request": request, "k": K}).raise_for_status()
                laps["POST /v1/route"] = time.perf_counter() - begun
                for name, client in clients.items():
                    begun = time.perf_counter()
                    await client.call_tool("find_tools", {"request": request, "k": K})
                    laps[f"find_tools, {name}"] = time.perf_counter() - begun
                if number >= WARM_UP:
                    for name, lap in laps.items():
                        taken.setdefault(name, []).append(lap)
            tokens = await _tokens(router, next(iter(clients.values())), requests)
    return {"ms": {name: percentiles(laps) for name, laps in taken.items()}, "tokens": tokens}


async def _tokens(router: Router, client: Client, requests: Sequence[str]) -> dict[str, Any]:
    """Medians over the requests, and the tokens of the list of three tools."""
    length = TokenCounter().length
    found: dict[str, dict[str, float]] = {}
    for detail in reversed(Detail):
        counts = []
        for request in requests:
            answer = await client.call_tool("find_tools", {"request": request, "k": K, "detail": detail})
            (content,) = answer.content
            assert isinstance(content, TextContent)
            counts.append(length(content.text))
        found[f"find_tools, {detail}"] = {"median": statistics.median(counts), "most": max(counts)}
    forms = [
        length(json.dumps(router.route(request, k=K).render("openai").tools, separators=(",", ":")))
        for request in requests
    ]
    found["five tools in OpenAI's form"] = {"median": statistics.median(forms), "most": max(forms)}
    listed = (await client.list_tools()).model_dump(by_alias=True, exclude_none=True, mode="json")["tools"]
    own = [{name: tool[name] for name in ("name", "description", "inputSchema")} for tool in listed]
    found["the three tools themselves"] = {"median": length(json.dumps(own, separators=(",", ":")))}
    return found


@asynccontextmanager
async def _clients(snapshot: Path, router: Router) -> AsyncIterator[dict[str, Client]]:
    arguments = [*_SERVE, "mcp", "--watch", "0", "--snapshot", str(snapshot)]
    program = StdioServerParameters(command=sys.executable, args=arguments, cwd=Path.cwd())
    with _serving(snapshot, "mcp", "--http") as url:
        async with AsyncExitStack() as stack:
            yield {
                "in this process": await stack.enter_async_context(Client(server(router))),
                "over stdio": await stack.enter_async_context(Client(program)),
                "over HTTP": await stack.enter_async_context(Client(url)),
            }


@contextmanager
def _serving(snapshot: Path, *what: str) -> Iterator[str]:
    """The address of a server on loopback, for as long as it is needed."""
    command = [sys.executable, *_SERVE, *what, "--watch", "0", "--snapshot", str(snapshot), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as program:
        try:
            assert program.stdout is not None
            said = program.stdout.readline()  # where it listens, once it does
            yield said.rpartition(" at ")[2].strip()
        finally:
            program.terminate()


def main() -> None:
    """Measure, print, write."""
    on_one_thread()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapshot", type=Path)
    parser.add_argument("--most", type=int, default=200, help="requests to ask")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--against", type=Path, metavar="STORED", help="a stored run, to print ratios to")
    asked = parser.parse_args()
    found = about(asked.snapshot)
    requests = own_requests(Snapshot.open(asked.snapshot), asked.most + WARM_UP)
    report("Interfaces", found, asyncio.run(measure(asked.snapshot, requests)), asked.json, asked.against)


if __name__ == "__main__":
    main()
