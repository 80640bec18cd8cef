"""Tie what was reported to the answers that offered it, and sum it up: what was called, by rank and by tool."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pipeline.feedback.storage import StoredEvents
from router.feedback import Outcome

_CALLED = (Outcome.CALLED, Outcome.SUCCEEDED, Outcome.FAILED)
_RANKS = 20
_MOST_TOOLS = 20


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and what became of its tools. `tools` are ranked, the best first; `request` is None without texts.

    `outcomes` are by tool id: of tools that the answer offered, or, where it is `named`, of the tools that somebody
    named for the request.
    """

    at: float
    request: str | None
    caller: str | None
    tools: tuple[str, ...]
    outcomes: Mapping[str, Outcome]
    named: bool = False


@dataclass(frozen=True)
class Answers:
    """All answers, the oldest first. `untied` counts reports of no known answer, tool and caller: nobody learns from
    these."""

    answers: tuple[Answer, ...]
    untied: int


def join_answers(events: StoredEvents, ids: Mapping[str, str] = MappingProxyType({})) -> Answers:
    """Return the answers with their outcomes. A report counts for a tool that its answer offered to the same caller.

    So nobody can report on a tool that was not offered, nor on the answers of others, whose ids are not known to them.
    Of several reports on a tool the last counts. `ids` are those of today by former ones.
    """
    offered = {event.id: event for event in events.offered}
    outcomes: dict[str, dict[str, Outcome]] = {answer: {} for answer in offered}
    untied = 0
    for report in events.reported:
        answer = offered.get(report.id)
        shown = answer is not None and (report.tool in (*answer.tools, *answer.always) or answer.named)
        if answer is None or not shown or answer.caller != report.caller:
            untied += 1
        else:
            outcomes[report.id][ids.get(report.tool, report.tool)] = report.outcome
    answers = tuple(
        Answer(event.at, event.request, event.caller, tools, outcomes[event.id], event.named)
        for event in offered.values()
        for tools in [tuple(ids.get(tool, tool) for tool in event.tools)]
    )
    return Answers(answers, untied)


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
