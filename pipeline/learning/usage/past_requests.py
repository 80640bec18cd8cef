"""The past requests that a catalog's settings name: of a call log, of a feedback log, or of both."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.feedback import FeedbackLimits, compact_events, join_answers
from pipeline.feedback.storage import normal_words
from pipeline.learning.usage.feedback import FeedbackLessons, feedback_lessons
from pipeline.learning.usage.log import MAX_USES, PastRequest, UsageLog, read_usage
from pipeline.settings import CatalogSettings
from pipeline.vectors import Embedding
from quartermaster.evaluation import judgements_of, read_judgements


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
        return [_content(past) for past in self.requests]

    def to_json(self) -> dict[str, Any]:
        """Return the counts, for the manifest."""
        counts = self.usage.to_json()
        return counts if self.feedback is None else {**counts, "feedback": self.feedback.to_json()}

    def embedded(self, embedding: Embedding | None) -> "PastRequests":
        """Return the requests with vectors, from the ledger where it has them."""
        if embedding is None or not self.requests:
            return self
        texts = [embedding.model.query_prefix + past.request for past in self.requests]
        embedding.embed(texts)
        return replace(self, vectors=embedding.matrix(texts))


def past_requests(settings: CatalogSettings, known: Collection[str]) -> PastRequests | None:
    """Return the past requests that the settings name, or None. A feedback log is compacted first.

    Raises RunAborted for a file or folder that cannot be read.
    """
    tuning = settings.tuning
    if tuning.usage is None and tuning.feedback is None:
        return None
    usage = UsageLog() if tuning.usage is None else read_usage(settings.resolve(tuning.usage), known)
    if tuning.feedback is None:
        return PastRequests(usage)
    limits = FeedbackLimits(tuning.feedback_days, tuning.feedback_max_bytes)
    answers = join_answers(compact_events(settings.resolve(tuning.feedback), limits)).answers
    file = judgements_of(settings.folder)
    judged = [judgement.request for judgement in read_judgements(file)] if file else []
    return PastRequests(usage, feedback=feedback_lessons(answers, known, judged))


def _content(past: PastRequest) -> list[Any]:
    """Return a request with its shares, and its evidence where there is any."""
    content: list[Any] = [past.request, dict(past.shares)]
    if past.evidence is not None:
        said = past.evidence.items()
        content.append({tool: [round(one.successes, 4), round(one.examined, 4)] for tool, one in sorted(said)})
    return content
