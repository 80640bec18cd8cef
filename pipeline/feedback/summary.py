"""Sum up a feedback log: what was offered and called, by rank and by tool."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pipeline.feedback.answers import Answers
from pipeline.feedback.storage import StoredEvents
from router.feedback import Outcome

_CALLED = (Outcome.CALLED, Outcome.SUCCEEDED, Outcome.FAILED)
_RANKS = 20
_MOST_TOOLS = 20


@dataclass(frozen=True, slots=True)
class RankCounts:
    """How many tools were offered at a rank, and how many of them were called."""

    rank: int
    offered: int
    called: int


@dataclass(frozen=True)
class FeedbackSummary:
    """A feedback log in numbers. `untied` are reports of no known answer, `texts` answers whose request is kept.

    `never_called` has the tools that were offered most often and called never, with how often they were offered.
    """

    answers: int
    reports: int
    texts: int
    callers: int
    untied: int
    removed: int
    unreadable: int
    writing: int
    outcomes: Mapping[str, int]
    ranks: tuple[RankCounts, ...]
    never_called: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return asdict(self)


def summarize(events: StoredEvents, joined: Answers) -> FeedbackSummary:
    """Return the numbers of a log."""
    offered, called = Counter[int](), Counter[int]()
    tools, used = Counter[str](), Counter[str]()
    outcomes = Counter[str]()
    for answer in joined.answers:
        tools.update(answer.tools)
        outcomes.update(str(outcome) for outcome in answer.outcomes.values())
        used.update(tool for tool, outcome in answer.outcomes.items() if outcome in _CALLED)
        for rank, tool in enumerate(answer.tools[:_RANKS], 1):
            offered[rank] += 1
            called[rank] += answer.outcomes.get(tool) in _CALLED
    never = sorted(((tool, count) for tool, count in tools.items() if tool not in used), key=lambda one: (-one[1], one))
    return FeedbackSummary(
        answers=len(joined.answers),
        reports=len(events.reported),
        texts=sum(answer.request is not None for answer in joined.answers),
        callers=len({answer.caller for answer in joined.answers}),
        untied=joined.untied,
        removed=events.removed,
        unreadable=events.unreadable,
        writing=events.writing,
        outcomes={str(outcome): outcomes[outcome] for outcome in Outcome},
        ranks=tuple(RankCounts(rank, offered[rank], called[rank]) for rank in sorted(offered)),
        never_called=dict(never[:_MOST_TOOLS]),
    )
