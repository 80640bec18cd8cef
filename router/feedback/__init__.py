"""Record what an answer offered and what was made of it, for the next build to learn from. See docs/feedback.md."""

from router.feedback.events import Event, Offered, Outcome, Removed, Reported
from router.feedback.log import FeedbackLog, FeedbackStatistics

__all__ = ["Event", "FeedbackLog", "FeedbackStatistics", "Offered", "Outcome", "Removed", "Reported"]
