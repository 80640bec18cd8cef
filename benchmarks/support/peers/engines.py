"""Search engines that run in the process, each used as its first page shows. Each function raises ImportError where
its package is missing."""

import tempfile
from typing import Any

import numpy as np

from benchmarks.support.peers.definitions import Answer, K, Tools, short_texts
from benchmarks.support.peers.embedder import Embedder


def chroma(tools: Tools, embedder: Embedder) -> Answer:
    """Chroma's collection in memory: its HNSW index over name and description, by cosine."""
    import chromadb  # type: ignore[import-not-found, unused-ignore]

    settings = chromadb.Settings(anonymized_telemetry=False)
    collection = chromadb.EphemeralClient(settings).create_collection(
        "tools", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
    )
    texts = short_texts(tools)
    vectors = embedder.documents(texts)
    for first in range(0, len(tools), 1000):
        some = slice(first, first + 1000)
        collection.add(ids=[tool["id"] for tool in tools[some]], embeddings=vectors[some], documents=texts[some])

    def answer(request: str) -> list[str]:
        found = collection.query(query_embeddings=[embedder.request(request)], n_results=K, include=[])
        return list(found["ids"][0])

    return answer


def qdrant(tools: Tools, embedder: Embedder) -> Answer:
    """Qdrant's client in its local mode: exact cosine over name and description."""
    from qdrant_client import QdrantClient, models  # type: ignore[import-not-found, unused-ignore]

    client = QdrantClient(":memory:")
    space = models.VectorParams(size=embedder.dimensions, distance=models.Distance.COSINE)
    client.create_collection("tools", vectors_config=space)
    vectors = embedder.documents(short_texts(tools))
    client.upload_collection("tools", vectors=vectors, ids=range(len(tools)))

    def answer(request: str) -> list[str]:
        found = client.query_points("tools", query=embedder.request(request).tolist(), limit=K, with_payload=False)
        return [tools[point.id]["id"] for point in found.points]

    return answer


def lancedb(tools: Tools, embedder: Embedder) -> Answer:
    """LanceDB's hybrid search: its full-text index and exact vectors over name and description, fused by its RRF."""
    import lancedb as package  # type: ignore[import-not-found, unused-ignore]

    texts = short_texts(tools)
    vectors = embedder.documents(texts)
    rows = [
        {"id": tool["id"], "text": text, "vector": vector}
        for tool, text, vector in zip(tools, texts, vectors.tolist(), strict=True)
    ]
    table = package.connect(tempfile.mkdtemp()).create_table("tools", data=rows)
    table.create_fts_index("text")

    def answer(request: str) -> list[str]:
        search: Any = table.search(query_type="hybrid").vector(embedder.request(request)).text(request)
        return [row["id"] for row in search.limit(K).select(["id"]).to_list()]

    return answer


def txtai(tools: Tools, embedder: Embedder) -> Answer:
    """txtai's hybrid index: its BM25 and its vectors over name and description, in equal parts."""
    from txtai import Embeddings  # type: ignore[import-not-found, unused-ignore]

    def embed(texts: Any) -> Any:
        return np.asarray(embedder.embed(list(texts)), np.float32)

    index = Embeddings(method="external", transform=embed, hybrid=True)
    index.index((tool["id"], text, None) for tool, text in zip(tools, short_texts(tools), strict=True))
    return lambda request: [found for found, _ in index.search(request, K)]
