"""Peers that rank by vectors, alone or beside words. Each raises ImportError where its package is missing."""

from typing import Any

import numpy as np

from benchmarks.support.peers.definitions import Answer, K, Tools, short_texts, unique_names
from benchmarks.support.peers.embedder import Embedder
from benchmarks.support.peers.lexical import bm25s_order

_RRF_K = 60
_RRF_DEPTH = 100
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
    ids = dict(zip(names, (tool["id"] for tool in tools), strict=True))
    return lambda request: [ids[choice.name] for choice in router(request, limit=K)]
