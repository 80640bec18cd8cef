"""Selectors of tools that fuse words and vectors. Each function raises ImportError where its package is missing."""

import contextlib
import re
import tempfile
from typing import Any

from benchmarks.support.peers.definitions import Answer, K, Tools, description, ids_by_name, schema, unique_names
from benchmarks.support.peers.dense import matrix_order
from benchmarks.support.peers.embedder import Embedder, model_folder
from benchmarks.support.peers.lexical import bm25s_order
from benchmarks.support.peers.loop import Loop

_RRF_K = 60
_RRF_DEPTH = 100


def reciprocal_ranks(tools: Tools, embedder: Embedder) -> Answer:
    """Plain reciprocal rank fusion of `bm25s` and `matrix`, k = 60: the hybrid that many write themselves."""
    lists = (bm25s_order(tools, _RRF_DEPTH), matrix_order(tools, _RRF_DEPTH, embedder))

    def answer(request: str) -> list[str]:
        scores: dict[int, float] = {}
        for ranked in lists:
            for rank, position in enumerate(ranked(request), 1):
                scores[position] = scores.get(position, 0.0) + 1 / (_RRF_K + rank)
        best = sorted(scores, key=lambda position: -scores[position])[:K]
        return [tools[position]["id"] for position in best]

    return answer


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


def graph_tool_call(tools: Tools, embedder: Embedder | None = None) -> Answer:
    """graph-tool-call: words and a graph of the tools, and with an embedder also vectors."""
    from graph_tool_call import ToolGraph  # type: ignore[import-not-found, unused-ignore]

    pairs = zip(tools, unique_names(tools), strict=True)
    graph, ids = ToolGraph(), ids_by_name(tools)
    graph.add_tools(
        [{"name": name, "description": description(tool), "inputSchema": schema(tool)} for tool, name in pairs]
    )
    if embedder is not None:
        graph.enable_embedding(embedder.embed)
    graph.retrieve("first", top_k=K)  # builds what it ranks by
    return lambda request: [ids[tool.name] for tool in graph.retrieve(request, top_k=K) if tool.name in ids]


def semantic_tool_router(tools: Tools, embedder: Embedder) -> Answer:
    """semantic-tool-router: vectors and BM25, weighed .6 to .4, less a penalty for tools that look dangerous."""
    from semantic_tool_router import ToolRegistry, ToolRouter  # type: ignore[import-not-found, unused-ignore]
    from semantic_tool_router.models import ToolSpec  # type: ignore[import-not-found, unused-ignore]

    listed = [
        ToolSpec(name, description(tool) or name, schema(tool)["properties"])
        for tool, name in zip(tools, unique_names(tools), strict=True)
    ]
    texts = [tool.searchable_text() for tool in listed]
    vectors = dict(zip(texts, embedder.documents(texts).tolist(), strict=True))

    class Shared:
        def embed(self, text: str) -> list[float]:
            return vectors.get(text) or list(map(float, embedder.request(text)))

    router, ids = ToolRouter(ToolRegistry(listed), embedding_provider=Shared()), ids_by_name(tools)
    return lambda request: [ids[found.tool.name] for found in router.discover(request, top_k=K)]


def toolpickr(tools: Tools) -> Answer:
    """ToolPickr: FAISS and BM25 fused, with its own copy of the encoder."""
    from toolpickr import ToolDefinition, ToolPickr  # type: ignore[import-not-found, unused-ignore]

    picker = ToolPickr(embedding_model=f"sentence_transformers/{model_folder()}", top_k=K)
    picker.register_tools(
        [
            ToolDefinition(name=name, description=description(tool), parameters=schema(tool))
            for tool, name in zip(tools, unique_names(tools), strict=True)
        ]
    )
    with contextlib.chdir(tempfile.mkdtemp()):  # it writes its index under the working directory
        picker.build()
    ids = ids_by_name(tools)
    return lambda request: [ids[found.tool_name] for found in picker.retrieve(request)]


def agent_gantry(tools: Tools) -> Answer:
    """Agent-Gantry: cosine, intent and health of each tool, with its own copy of the encoder."""
    from agent_gantry import AgentGantry  # type: ignore[import-not-found, unused-ignore]
    from agent_gantry.adapters.embedders.sentence_transformers import (  # type: ignore[import-not-found, unused-ignore]
        SentenceTransformersEmbedder,
    )
    from agent_gantry.schema.query import (  # type: ignore[import-not-found, unused-ignore]
        ConversationContext,
        ToolQuery,
    )
    from agent_gantry.schema.tool import ToolDefinition  # type: ignore[import-not-found, unused-ignore]

    gantry = AgentGantry(embedder=SentenceTransformersEmbedder(model=str(model_folder()), device="cpu"))
    ids: dict[str, str] = {}
    loop = Loop()

    async def build() -> None:
        for position, (tool, name) in enumerate(zip(tools, unique_names(tools), strict=True)):
            plain = _plain(name)
            plain = f"{plain}_{position}" if plain in ids else plain
            ids[plain] = tool["id"]
            text = (description(tool) or name)[:2000].ljust(10)  # the lengths that it takes
            await gantry.add_tool(ToolDefinition(name=plain, description=text, parameters_schema=schema(tool)))
        await gantry.sync()

    async def search(request: str) -> list[str]:
        query = ToolQuery(context=ConversationContext(query=request), limit=K, score_threshold=0.0)
        return [ids[found.tool.name] for found in (await gantry.retrieve(query)).tools]

    loop.run(build())
    return lambda request: loop.run(search(request))


def _plain(name: str) -> str:
    """Return a name of the form that Agent-Gantry takes: a letter first, then small letters, digits and _."""
    return "t_" + re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:100]
