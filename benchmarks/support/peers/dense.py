"""Selectors of tools that rank by vectors alone. Each function raises ImportError where its package is missing."""

from typing import Any

import numpy as np

from benchmarks.support.peers.definitions import (
    Answer,
    K,
    Tools,
    description,
    ids_by_name,
    schema,
    short_texts,
    unique_names,
)
from benchmarks.support.peers.embedder import Embedder
from benchmarks.support.peers.loop import Loop

_BATCH = 512


def matrix(tools: Tools, embedder: Embedder) -> Answer:
    """Cosine to name and description of each tool: what a vector store does, without one."""
    ranked = matrix_order(tools, K, embedder)
    return lambda request: [tools[i]["id"] for i in ranked(request)]


def matrix_order(tools: Tools, depth: int, embedder: Embedder) -> Any:
    """Return a function of a request to the positions of the nearest `depth` tools."""
    documents = embedder.documents(short_texts(tools))
    depth = min(depth, len(tools))

    def order(request: str) -> list[int]:
        scores = documents @ embedder.request(request)
        best = np.argpartition(-scores, depth - 1)[:depth]
        return [int(i) for i in best[np.argsort(-scores[best], kind="stable")]]

    return order


def bigtool(tools: Tools, embedder: Embedder) -> Answer:
    """langgraph-bigtool's own retrieval over LangGraph's store, as its README sets it up."""
    from langchain_core.embeddings import Embeddings
    from langgraph.store.base import PutOp
    from langgraph.store.memory import InMemoryStore
    from langgraph_bigtool.tools import (  # type: ignore[import-not-found, unused-ignore]
        get_default_retrieval_tool,
    )

    class Shared(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [list(map(float, vector)) for vector in embedder.documents(texts)]

        def embed_query(self, text: str) -> list[float]:
            return list(map(float, embedder.request(text)))

    store = InMemoryStore(index={"embed": Shared(), "dims": embedder.dimensions, "fields": ["description"]})
    texts = short_texts(tools)
    for first in range(0, len(tools), _BATCH):
        pairs = zip(tools[first : first + _BATCH], texts[first : first + _BATCH], strict=True)
        store.batch([PutOp(("tools",), tool["id"], {"description": text}) for tool, text in pairs])
    retrieve, _ = get_default_retrieval_tool(("tools",), limit=K)
    return lambda request: list(retrieve(request, store=store))


def semantic_router(tools: Tools, embedder: Embedder) -> Answer:
    """semantic-router: a route for each tool, whose utterances are its text and each of its phrases; the nearest one
    counts."""
    from semantic_router.encoders import DenseEncoder  # type: ignore[import-not-found, unused-ignore]
    from semantic_router.route import Route  # type: ignore[import-not-found, unused-ignore]
    from semantic_router.routers import IndexedRouter  # type: ignore[import-not-found, unused-ignore]

    class Shared(DenseEncoder):  # type: ignore[misc, unused-ignore]
        def __call__(self, docs: list[str]) -> list[list[float]]:
            return embedder.embed(docs)

        async def acall(self, docs: list[str]) -> list[list[float]]:
            return self(docs)

    names = unique_names(tools)
    routes = [
        Route(name=name, utterances=[text, *tool.get("phrases", ())])
        for tool, name, text in zip(tools, names, short_texts(tools), strict=True)
    ]
    utterances = sum(len(route.utterances) for route in routes)
    router = IndexedRouter(encoder=Shared(name="MiniLM"), routes=routes, top_k=utterances, aggregation="max")
    ids = ids_by_name(tools)
    return lambda request: [ids[choice.name] for choice in router(request, limit=K)]


def llama_index(tools: Tools, embedder: Embedder) -> Answer:
    """LlamaIndex's ObjectIndex over its own vector index, which embeds name, description and schema of each tool."""
    from llama_index.core import VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.objects import ObjectIndex
    from llama_index.core.tools import FunctionTool, ToolMetadata

    class Shared(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return list(map(float, embedder.request(query)))

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return [list(map(float, vector)) for vector in embedder.documents(texts)]

    def nothing() -> None:
        """Stand in for the tool, which is never called."""

    listed = [
        FunctionTool(nothing, ToolMetadata(description=description(tool), name=name, fn_schema=None))
        for tool, name in zip(tools, unique_names(tools), strict=True)
    ]
    index = ObjectIndex.from_objects(listed, index_cls=VectorStoreIndex, embed_model=Shared(embed_batch_size=_BATCH))
    retriever, ids = index.as_retriever(similarity_top_k=K), ids_by_name(tools)
    return lambda request: [ids[found.metadata.name] for found in retriever.retrieve(request)]


def tool_router_ai(tools: Tools, embedder: Embedder) -> Answer:
    """tool-router-ai: an exact faiss index of name and description."""
    import tool_router_ai.embedder as ai_embedder  # type: ignore[import-not-found, unused-ignore]
    from tool_router_ai.models import Tool  # type: ignore[import-not-found, unused-ignore]
    from tool_router_ai.registry import ToolRegistry  # type: ignore[import-not-found, unused-ignore]
    from tool_router_ai.router import ToolRouter  # type: ignore[import-not-found, unused-ignore]

    async def embed(texts: list[str]) -> list[list[float]]:
        return embedder.embed(texts)

    registry = ToolRegistry()
    for tool, name in zip(tools, unique_names(tools), strict=True):
        registry.register(Tool(name, description(tool), schema(tool)))
    router, loop, ids = ToolRouter(registry, ai_embedder.Embedder(embed)), Loop(), ids_by_name(tools)
    loop.run(router.build_index())
    return lambda request: [ids[tool.name] for tool in loop.run(router.route(request, top_k=K))]


def toolscope(tools: Tools, embedder: Embedder) -> Answer:
    """ToolScope's index in memory, asked with the request as a text."""
    import toolscope as package  # type: ignore[import-not-found, unused-ignore]

    class Shared:
        def embed_texts(self, texts: list[str]) -> list[list[float]]:
            return embedder.embed(texts)

    pairs = zip(tools, unique_names(tools), strict=True)
    listed = [{"name": name, "description": description(tool), "inputSchema": schema(tool)} for tool, name in pairs]
    index, ids = package.index(listed, embedder=Shared()), ids_by_name(tools)
    return lambda request: [ids[tool["name"]] for tool in index.filter(request, k=K)]
