"""Peers that rank by words alone. Each function raises ImportError where its package is missing."""

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from typing import Any

from benchmarks.support.peers.definitions import (
    Answer,
    K,
    Tools,
    description,
    parameter_text,
    schema,
    unique_names,
)


def bm25s(tools: Tools, *, parameters: bool = True) -> Answer:
    """bm25s over one field: name, description and, if asked for, parameters; stemmed, without stop words."""
    ranked = bm25s_order(tools, K, parameters=parameters)
    return lambda request: [tools[i]["id"] for i in ranked(request)]


def bm25s_order(tools: Tools, depth: int, *, parameters: bool = True) -> Any:
    """Return a function of a request to the positions of the best `depth` tools, of those that share a word with it."""
    import bm25s  # type: ignore[import-not-found, unused-ignore]
    import Stemmer  # type: ignore[import-not-found, unused-ignore]

    stemmer = Stemmer.Stemmer("english")
    texts = [
        f"{name} {description(tool)} {parameter_text(tool) if parameters else ''}".replace("_", " ")
        for tool, name in zip(tools, unique_names(tools), strict=True)
    ]
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)
    depth = min(depth, len(tools))

    def order(request: str) -> list[int]:
        terms = bm25s.tokenize([request], stopwords="en", stemmer=stemmer, show_progress=False)
        found, scores = index.retrieve(terms, k=depth, show_progress=False, n_threads=0)
        return [int(i) for i, score in zip(found[0], scores[0], strict=True) if score > 0]

    return order


def ratel(tools: Tools, method: str, model: Any = None) -> Answer:
    """ratel's tool registry. `model` is the folder of its encoder, which no method but "bm25" goes without."""
    from ratel_ai.catalog import Tool, ToolRegistry  # type: ignore[import-not-found, unused-ignore]

    registry = (
        ToolRegistry({"local": str(model), "pooling": "mean"}, method=method) if model is not None else ToolRegistry()
    )
    definitions = [
        Tool(id=tool["id"], name=name, description=description(tool), input_schema=schema(tool))
        for tool, name in zip(tools, unique_names(tools), strict=True)
    ]
    loop = Loop()

    async def register() -> None:
        await registry.register(definitions)

    loop.run(register())
    if model is None:
        return lambda request: [hit.tool_id for hit in registry.search(request, K)]

    async def search(request: str) -> Any:
        return await registry.search_async(request, K, method=method)

    return lambda request: [hit.tool_id for hit in loop.run(search(request))]


def fastmcp(tools: Tools) -> Answer:
    """FastMCP's BM25 search transform, asked by a client over its `search_tools`, as an agent would."""
    from fastmcp import Client, FastMCP  # type: ignore[import-not-found, unused-ignore]
    from fastmcp.server.transforms.search import BM25SearchTransform  # type: ignore[import-not-found, unused-ignore]
    from fastmcp.tools.base import Tool  # type: ignore[import-not-found, unused-ignore]

    names = unique_names(tools)
    server: Any = FastMCP("tools")
    for tool, name in zip(tools, names, strict=True):
        server.add_tool(Tool(name=name, description=description(tool), parameters=schema(tool)))
    server.add_transform(BM25SearchTransform(max_results=K, search_result_serializer=_names_alone))
    ids = dict(zip(names, (tool["id"] for tool in tools), strict=True))
    loop = Loop()
    client: Any = Client(server)
    loop.run(client.__aenter__())

    async def search(request: str) -> list[str]:
        found = await client.call_tool("search_tools", {"query": request})
        return [ids[name] for name in found.content[0].text.split("\n") if name] if found.content else []

    return lambda request: loop.run(search(request))


def toolpicker(tools: Tools, embedder: Any = None) -> Answer:
    """ToolPicker: BM25, and with an embedder BM25 and semantic, fused."""
    from toolpicker import Tool, ToolPicker  # type: ignore[import-not-found, unused-ignore]

    class Source:
        def tools(self) -> list[Any]:
            return [
                Tool(id=tool["id"], name=name, description=description(tool), parameters_schema=schema(tool))
                for tool, name in zip(tools, unique_names(tools), strict=True)
            ]

    picker = ToolPicker(Source(), embedder=embedder)
    return lambda request: [tool.id for tool in picker.select(request, k=K)]


class Loop:
    """An event loop in a thread, for peers that are asynchronous."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return the result of a coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def _names_alone(tools: Sequence[Any]) -> str:
    return "\n".join(tool.name for tool in tools)
