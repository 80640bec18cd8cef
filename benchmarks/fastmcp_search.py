"""Measure the search of a FastMCP server beside FastMCP's own BM25 search:
`python -m benchmarks.fastmcp_search [--json FILE]`.

Cost: the first search, which indexes the tools, and the median of those that follow, in a client in memory, by the
number of tools. Quality: the judged requests of catalogs/demo whose tools one server lists, five tools for each;
`Success@5` is the share of requests of which a required tool is found. The snapshot has the demo's phrases.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.server.transforms.search.base import BaseSearchTransform
from fastmcp.tools.base import Tool

from benchmarks.support.measuring import about, on_one_thread, report
from pipeline.build import build
from pipeline.settings import load
from router import Form, Router, ToolRecord
from router.adapters.fastmcp import RouterSearch
from router.provider_formats import legal_name

DEMO = Path(__file__).parents[1] / "catalogs" / "demo"
SIZES, REQUESTS, K = (10, 200, 2_000), 40, 5


def demo_tools(records: Sequence[ToolRecord]) -> list[Tool]:
    """The demo's tools as one server lists them: `stripe/createRefund` is stripe__createRefund."""
    return [
        Tool(name=legal_name(one.tool_id, Form.MCP), description=one.description, parameters=dict(one.input_schema))
        for one in records
    ]


def made_up(count: int) -> list[Tool]:
    """Some tools of two parameters."""
    verbs = "list get create delete update search send cancel archive export".split()
    nouns = "invoice charge issue channel message report customer order ticket user event page branch".split()
    tools = []
    for number in range(count):
        verb, noun, of = verbs[number % 10], nouns[number * 3 % 13], nouns[number * 5 % 13]
        text = f"{verb.title()} the {noun} of a {of}. Use it where {of} {number} has a {noun} that matters."
        properties = {f"{noun}_id": {"type": "string", "description": f"The {noun}."}, "limit": {"type": "integer"}}
        schema = {"type": "object", "properties": properties}
        tools.append(Tool(name=f"{verb}_{noun}_{of}_{number}", description=text, parameters=schema))
    return tools


async def searches(
    tools: Sequence[Tool], search: BaseSearchTransform, requests: Sequence[str]
) -> tuple[list[float], list[list[str]]]:
    """Milliseconds of each search, and the names that it found."""
    server = FastMCP("benchmark")
    for tool in tools:
        server.add_tool(tool)
    server.add_transform(search)
    argument = "query" if isinstance(search, BM25SearchTransform) else "request"
    laps, found = [], []
    async with Client(server) as client:
        for request in requests:
            begun = time.perf_counter()
            answer = await client.call_tool("search_tools", {argument: request})
            laps.append((time.perf_counter() - begun) * 1e3)
            content: Mapping[str, Any] = answer.structured_content or {}
            found.append([row["name"] for row in content.get("result", content.get("tools", ()))])
    return laps, found


def cost() -> dict[str, Any]:
    """Milliseconds by way and number of tools."""
    requests = [f"show me the {noun} of customer {number}" for number in range(8) for noun in ("invoice", "order")] * 3
    figures: dict[str, Any] = {}
    for count in SIZES:
        tools = made_up(count)
        ways = {"BM25SearchTransform": BM25SearchTransform(), "RouterSearch, words": RouterSearch(encoder=None)}
        for name, search in {**ways, "RouterSearch, vectors": RouterSearch()}.items():
            laps, _ = asyncio.run(searches(tools, search, requests[:REQUESTS]))
            row = {"first_ms": round(laps[0], 1), "median_ms": round(statistics.median(laps[1:]), 1)}
            figures.setdefault(f"{count:,} tools", {})[name] = row
    return figures


def quality(folder: Path) -> dict[str, Any]:
    """Success@5 by way, on the demo's judged requests."""
    whole = build(load(DEMO, {"vectors": {"encoder": "none"}}, environment={}), workspace=folder / "demo")
    with Router.open(whole.snapshot) as router:
        tools = demo_tools(router.tools)
        names = {record.tool_id: legal_name(record.tool_id, Form.MCP) for record in router.tools}
    rows = [json.loads(line) for line in (DEMO / "judgements.jsonl").read_text(encoding="utf-8").splitlines()]
    judged = [(row["query"], {names[one] for one in row["required"]}) for row in rows if row["required"]]
    ways: dict[str, BaseSearchTransform] = {
        "BM25SearchTransform": BM25SearchTransform(max_results=K),
        "RouterSearch, words": RouterSearch(encoder=None, max_results=K),
        "RouterSearch, vectors": RouterSearch(max_results=K),
        "RouterSearch, snapshot": RouterSearch(Router.open(_snapshot(folder / "one", tools, names)), max_results=K),
    }
    figures: dict[str, Any] = {"requests": len(judged)}
    for name, search in ways.items():
        _, found = asyncio.run(searches(tools, search, [request for request, _ in judged]))
        hits = [not required.isdisjoint(best) for (_, required), best in zip(judged, found, strict=True)]
        figures[name] = {"Success@5": round(statistics.mean(hits), 3)}
    return figures


def _snapshot(folder: Path, tools: Sequence[Tool], names: Mapping[str, str]) -> Path:
    """The snapshot of the one server, with vectors and the demo's phrases."""
    folder.mkdir()
    listed = [tool.to_mcp_tool().model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    (folder / "tools.mcp.json").write_text(json.dumps({"tools": listed}), encoding="utf-8")
    rows = [json.loads(line) for line in (DEMO / "expansions.jsonl").read_text(encoding="utf-8").splitlines()]
    lines = [json.dumps({**row, "id": f"one/{names[row['id']]}"}) for row in rows if row["id"] in names]
    (folder / "expansions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    source = '[[source]]\npath = "tools.mcp.json"\nformat = "mcp"\nprovider = "one"\n'
    (folder / "catalog.toml").write_text(f'{source}[enrichment]\nexpansions = "expansions.jsonl"\n', encoding="utf-8")
    return build(load(folder, environment={}), workspace=folder / "workspace").snapshot


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--against", type=Path, metavar="STORED", help="a stored run, to print ratios to")
    arguments = parser.parse_args()
    on_one_thread()
    found = about()
    with TemporaryDirectory() as folder:
        figures = {"quality": quality(Path(folder)), "cost": cost()}
    report("search of a FastMCP server", found, figures, arguments.json, arguments.against)


if __name__ == "__main__":
    main()
