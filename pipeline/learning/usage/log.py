"""Read past requests and the tools that they led to, from JSONL: call logs or judged requests."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import RecordRejected
from pipeline.sources.formats.document import read_lines
from router.record import Origin
from router.search.search import MAX_REQUEST

# The newest are kept: a log keeps growing, and each costs a route in every build and a vector in every snapshot.
MAX_USES = 5_000
# Examinations without a success that every tool of a feedback log begins with. See docs/decisions/use.md.
DOUBT = 0.25


@dataclass(frozen=True, slots=True)
class Evidence:
    """How often a tool succeeded at a request, and how often it was examined; both weighed, see `feedback`."""

    successes: float = 0.0
    examined: float = 0.0

    @property
    def relevance(self) -> float:
        """Return how well the tool fits, from 0 to 1, by this request alone."""
        return min(1.0, self.successes / (self.examined + DOUBT))


@dataclass(frozen=True, slots=True)
class PastRequest:
    """A past request; `shares` has by tool id the share of the times it was made that led to the tool.

    `evidence` is what a feedback log says of every tool that was offered; None where the request is of a call log.
    """

    request: str
    shares: Mapping[str, float]
    evidence: Mapping[str, Evidence] | None = None

    @classmethod
    def of(cls, request: str, evidence: Mapping[str, Evidence]) -> "PastRequest":
        """Return a request of a feedback log, with its relevances as shares."""
        shares = {tool_id: said.relevance for tool_id, said in sorted(evidence.items()) if said.successes}
        return cls(request, shares, evidence)


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
