"""Read past requests and the tools that they led to, from JSONL: call logs or judged requests."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import RecordRejected
from pipeline.settings import CatalogSettings
from pipeline.sources.formats.document import read_lines
from pipeline.vectors import Embedding
from router.record import Origin
from router.search.search import MAX_REQUEST

# The newest are kept: a log keeps growing, and each costs a route in every build and a vector in every snapshot.
MAX_USES = 5_000


@dataclass(frozen=True, slots=True)
class PastRequest:
    """A past request; `shares` has by tool id the share of the times it was made that led to the tool."""

    request: str
    shares: Mapping[str, float]


@dataclass(frozen=True)
class UsageLog:
    """Past requests, each once, the newest last, and the rows that could not be used, with line and reason.

    `rows` counts all rows of the file; `toolless` those that led to no tool, which is no error; `older` the requests
    beyond the newest MAX_USES.
    """

    requests: tuple[PastRequest, ...] = ()
    rejected: tuple[RecordRejected, ...] = ()
    rows: int = 0
    toolless: int = 0
    older: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the counts, for the manifest."""
        return {
            "requests": len(self.requests),
            "rows": self.rows,
            "rejected": len(self.rejected),
            "toolless": self.toolless,
            "older": self.older,
        }


@dataclass(frozen=True)
class PastRequests:
    """Past requests with their vectors, float32 (uses, dim), as a router encodes requests; None without an encoder."""

    usage: UsageLog
    vectors: NDArray[np.float32] | None = None

    def content(self) -> list[list[Any]]:
        """Return all that a snapshot's answers depend on, JSON-ready."""
        return [[past.request, dict(past.shares)] for past in self.usage.requests]

    def embedded(self, embedding: Embedding | None) -> "PastRequests":
        """Return the requests with vectors, from the ledger where it has them."""
        if embedding is None or not self.usage.requests:
            return self
        texts = [embedding.model.query_prefix + past.request for past in self.usage.requests]
        embedding.embed(texts)
        return replace(self, vectors=embedding.matrix(texts))


def past_requests(settings: CatalogSettings, known: Collection[str]) -> PastRequests | None:
    """Return the past requests that the settings name, or None. Raises RunAborted for an unreadable file."""
    file = settings.tuning.usage
    return None if file is None else PastRequests(read_usage(settings.resolve(file), known))


def read_usage(path: Path, known: Collection[str]) -> UsageLog:
    """Return the past requests of a file: rows `{"request", "tools": [ids]}`, or judged requests (`query`, `required`).

    A row that names a tool outside `known`, the catalog's ids, is rejected whole. Requests that differ only in case
    and spaces are one. Raises RunAborted where the file cannot be read.
    """
    by_words: dict[str, tuple[str, Counter[str], int]] = {}
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
        _, counts, times = by_words.pop(key, ("", Counter[str](), 0))
        counts.update(tools)
        by_words[key] = (request, counts, times + 1)
    newest = list(by_words.values())[-MAX_USES:]
    requests = tuple(
        PastRequest(request, {tool_id: counts[tool_id] / times for tool_id in sorted(counts)})
        for request, counts, times in newest
    )
    return UsageLog(requests, tuple(rejected), rows, toolless, len(by_words) - len(newest))


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
