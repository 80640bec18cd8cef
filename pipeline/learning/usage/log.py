"""Past requests and the tools that they led to: call logs and judged requests from JSONL."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import RecordRejected
from pipeline.settings import CatalogSettings
from pipeline.sources.document import read_lines
from pipeline.vectors import Embedding
from router.record import Origin
from router.search.search import MAX_REQUEST

# The newest count: a log grows for ever, and each costs a route at every build and a vector in every snapshot.
MAX_USES = 5_000
# As a router cuts a request.


@dataclass(frozen=True, slots=True)
class Use:
    """A past request and its tools, by id, each with the share of the times it was made that led to it."""

    request: str
    shares: Mapping[str, float]


@dataclass(frozen=True)
class Usage:
    """Past requests, each once, the newest last; the rows that could not be used, each with its line and reason.

    `rows` are all that the file holds; `toolless` those that led to no tool, which is no mistake; `older` are the
    requests beyond the newest MAX_USES.
    """

    uses: tuple[Use, ...] = ()
    rejected: tuple[RecordRejected, ...] = ()
    rows: int = 0
    toolless: int = 0
    older: int = 0

    def to_json(self) -> dict[str, Any]:
        """The counts, for the manifest."""
        return {
            "requests": len(self.uses),
            "rows": self.rows,
            "rejected": len(self.rejected),
            "toolless": self.toolless,
            "older": self.older,
        }


@dataclass(frozen=True)
class PastRequests:
    """Past requests with their vectors, float32 (uses, dim), as a router encodes requests; None without an encoder."""

    usage: Usage
    vectors: NDArray[np.float32] | None = None

    def content(self) -> list[list[Any]]:
        """All of it that a snapshot's answers depend on, JSON-ready."""
        return [[use.request, dict(use.shares)] for use in self.usage.uses]

    def embedded(self, embedding: Embedding | None) -> "PastRequests":
        """The same with vectors, which come from the ledger where it has them."""
        if embedding is None or not self.usage.uses:
            return self
        texts = [embedding.model.query_prefix + use.request for use in self.usage.uses]
        embedding.embed(texts)
        return replace(self, vectors=embedding.matrix(texts))


def past_requests(settings: CatalogSettings, known: Collection[str]) -> PastRequests | None:
    """The past requests that the settings name; None where they name none. Raises RunAborted for an unreadable file."""
    file = settings.tuning.usage
    return None if file is None else PastRequests(read_usage(settings.resolve(file), known))


def read_usage(path: Path, known: Collection[str]) -> Usage:
    """Past requests of a file: rows `{"request", "tools": [ids]}`, or judged requests (`query`, `required`).

    A row that names a tool outside `known`, the catalog's ids, is rejected whole. Requests that differ in case and
    spaces alone are one. Raises RunAborted where the file cannot be read.
    """
    found: dict[str, tuple[str, Counter[str], int]] = {}
    rejected: list[RecordRejected] = []
    rows = toolless = 0
    for line in read_lines(path):
        rows += 1
        try:
            if isinstance(line, RecordRejected):
                raise line
            request, tools = _row(*line, known)
        except RecordRejected as error:
            rejected.append(error)
            continue
        if not tools:
            toolless += 1
            continue
        key = " ".join(request.casefold().split())
        _, counts, times = found.pop(key, ("", Counter[str](), 0))
        counts.update(tools)
        found[key] = (request, counts, times + 1)
    newest = list(found.values())[-MAX_USES:]
    uses = tuple(
        Use(request, {tool_id: counts[tool_id] / times for tool_id in sorted(counts)})
        for request, counts, times in newest
    )
    return Usage(uses, tuple(rejected), rows, toolless, len(found) - len(newest))


def _row(origin: Origin, row: Any, known: Collection[str]) -> tuple[str, frozenset[str]]:
    if not isinstance(row, dict):
        raise RecordRejected(origin, 'a past request is an object: {"request": "…", "tools": ["…"]}')
    request = row.get("request", row.get("query"))
    if not isinstance(request, str) or not request.strip():
        raise RecordRejected(origin, "request (or query) is missing, empty or no text")
    tools = row.get("tools", row.get("required"))
    if not isinstance(tools, list) or not all(isinstance(tool_id, str) for tool_id in tools):
        raise RecordRejected(origin, "tools (or required) is no list of tool ids")
    if unknown := sorted(set(tools) - set(known)):
        raise RecordRejected(origin, f"the catalog has no tool {unknown[0]!r}")
    return request.strip()[:MAX_REQUEST], frozenset(tools)
