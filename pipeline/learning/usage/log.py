"""The past requests that a catalog's settings name, and the tools that they led to: of call logs and feedback logs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import RecordRejected
from pipeline.feedback import FeedbackLimits, compact_events, join_answers
from pipeline.feedback.storage import normal_words
from pipeline.learning.usage.feedback import MAX_USES, FeedbackLessons, PastRequest, feedback_lessons
from pipeline.records import Catalog
from pipeline.settings import CatalogSettings
from pipeline.sources.formats.document import read_lines
from pipeline.vectors import Embedding
from quartermaster.evaluation import judgements_of, read_judgements
from router.record import Origin
from router.search.search import MAX_REQUEST


@dataclass(frozen=True)
class UsageLog:
    """Past requests, each once, the newest last, and the rows that could not be used, with line and reason.

    `rows` counts all rows of the file; `toolless` those that led to no tool, which are valid; `older` the requests
    beyond the newest MAX_USES.
    """

    requests: tuple[PastRequest, ...] = ()
    rejected: tuple[RecordRejected, ...] = ()
    rows: int = 0
    toolless: int = 0
    older: int = 0


@dataclass(frozen=True)
class PastRequests:
    """Past requests with their vectors, float32 (requests, dim), as a router encodes requests; None without an encoder.

    `usage` are those of a call log, `feedback` those of a feedback log, None without one.
    """

    usage: UsageLog
    vectors: NDArray[np.float32] | None = None
    feedback: FeedbackLessons | None = None

    @property
    def requests(self) -> tuple[PastRequest, ...]:
        """Return all requests. What a call log says of a request counts in place of what a feedback log says."""
        if self.feedback is None:
            return self.usage.requests
        known = {normal_words(past.request) for past in self.usage.requests}
        new = (past for past in self.feedback.requests if normal_words(past.request) not in known)
        return (*self.usage.requests, *new)[-MAX_USES:]

    def content(self) -> list[list[Any]]:
        """Return all that a snapshot's answers depend on, JSON-ready."""
        content: list[list[Any]] = []
        for past in self.requests:
            content.append([past.request, dict(past.shares)])
            if past.evidence is not None:
                said = sorted(past.evidence.items())
                content[-1].append({tool: [round(one.successes, 4), round(one.examined, 4)] for tool, one in said})
        return content

    def to_json(self) -> dict[str, Any]:
        """Return the counts, for the manifest."""
        usage = self.usage
        return {
            "requests": len(usage.requests),
            "rows": usage.rows,
            "rejected": len(usage.rejected),
            "toolless": usage.toolless,
            "older": usage.older,
            **({} if self.feedback is None else {"feedback": self.feedback.to_json()}),
        }

    def embedded(self, embedding: Embedding | None) -> "PastRequests":
        """Return the requests with vectors, from the ledger where it has them."""
        if embedding is None or not self.requests:
            return self
        texts, prefix = [past.request for past in self.requests], embedding.export.spec.query_prefix
        embedding.embed(texts, prefix)
        return replace(self, vectors=embedding.matrix(texts, prefix))


def past_requests(settings: CatalogSettings, catalog: Catalog) -> PastRequests | None:
    """Return the past requests that the settings name, or None. A feedback log is compacted first.

    Raises RunAborted for a file or folder that cannot be read.
    """
    tuning = settings.tuning
    if tuning.usage is None and tuning.feedback is None:
        return None
    known = {**catalog.former_ids, **{tool_id: tool_id for tool_id in catalog.hashes}}
    usage = UsageLog() if tuning.usage is None else read_usage(settings.resolve(tuning.usage), known)
    if tuning.feedback is None:
        return PastRequests(usage)
    limits = FeedbackLimits(tuning.feedback_days, tuning.feedback_max_bytes)
    joined = join_answers(compact_events(settings.resolve(tuning.feedback), limits), known)
    file = judgements_of(settings.folder)
    queries = [judgement.request for judgement in read_judgements(file)] if file else []
    return PastRequests(usage, feedback=feedback_lessons(joined.answers, known, queries))


def read_usage(path: Path, known: Mapping[str, str]) -> UsageLog:
    """Return the past requests of a file: rows `{"request", "tools": [ids]}`, or qrels (`query`, `required`).

    `known` has the catalog's ids by those that a row may name; a row that names another is rejected whole. Requests
    that differ only in case and spaces are one. Raises RunAborted where the file cannot be read.
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
        _, counts, times = by_words.pop(normal_words(request), ("", Counter[str](), 0))
        counts.update(tools)
        by_words[normal_words(request)] = (request, counts, times + 1)
    newest = list(by_words.values())[-MAX_USES:]
    requests = tuple(
        PastRequest(request, {tool_id: counts[tool_id] / times for tool_id in sorted(counts)})
        for request, counts, times in newest
    )
    return UsageLog(requests, tuple(rejected), rows, toolless, len(by_words) - len(newest))


def _row(origin: Origin, row: Any, known: Mapping[str, str]) -> tuple[str, frozenset[str]]:
    if not isinstance(row, dict):
        raise RecordRejected(origin, 'a past request is an object: {"request": "…", "tools": ["…"]}')
    request = row.get("request", row.get("query"))
    if not isinstance(request, str) or not request.strip():
        raise RecordRejected(origin, "request (or query) is missing, empty or no text")
    tools = row.get("tools", row.get("required"))
    if not isinstance(tools, list) or not all(isinstance(tool_id, str) for tool_id in tools):
        raise RecordRejected(origin, "tools (or required) is not a list of tool ids")
    if unknown := sorted(set(tools) - known.keys()):
        raise RecordRejected(origin, f"the catalog has no tool {unknown[0]!r}")
    return request.strip()[:MAX_REQUEST], frozenset(known[tool_id] for tool_id in tools)
