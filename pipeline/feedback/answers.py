"""Tie what was reported to the answers that offered it."""

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.feedback.storage import StoredEvents
from router.feedback import Outcome


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


def join_answers(events: StoredEvents) -> Answers:
    """Return the answers with their outcomes. A report counts for a tool that its answer offered to the same caller.

    So nobody can report on a tool that was not offered, nor on the answers of others, whose ids are not known to them.
    Of several reports on a tool the last counts.
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
            outcomes[report.id][report.tool] = report.outcome
    answers = tuple(
        Answer(event.at, event.request, event.caller, event.tools, outcomes[event.id], event.named)
        for event in offered.values()
    )
    return Answers(answers, untied)
