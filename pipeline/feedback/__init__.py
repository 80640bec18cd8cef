"""Read feedback logs: `storage` keeps their events in one bounded file, `answers` ties outcomes to what was offered."""

from pipeline.feedback.answers import Answer, Answers, FeedbackSummary, join_answers, summarize
from pipeline.feedback.storage import FeedbackLimits, StoredEvents, compact_events, forget_request, read_events

__all__ = [
    "Answer",
    "Answers",
    "FeedbackLimits",
    "FeedbackSummary",
    "StoredEvents",
    "compact_events",
    "forget_request",
    "join_answers",
    "read_events",
    "summarize",
]
