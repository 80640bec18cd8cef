"""Record answers, and what became of them, in a feedback log."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from router.answer.options import CheckedOptions
from router.answer.results import RoutedTools
from router.errors import RequestInvalid, SettingsInvalid, quoted
from router.search.conversation import Message, user_messages
from router.search.search import clean_request

if TYPE_CHECKING:
    from router.feedback import FeedbackLog, Outcome


def record_answer(
    log: "FeedbackLog | None", routed: RoutedTools, request: str | Sequence[Message], options: CheckedOptions
) -> RoutedTools:
    """Return an answer with its id in the log; as it is where no log keeps it.

    Of a dialogue no text is kept: "and the same for Bob" names no tool by itself.
    """
    if log is None or not options.feedback:
        return routed
    messages = user_messages(request)
    text = None if messages.earlier else clean_request(messages.latest)
    always = [tool.tool_id for tool in routed.always]
    answer = log.offered(
        routed.snapshot, routed.ids, always=always, request=text, needs=routed.needs, caller=options.caller
    )
    return replace(routed, request_id=answer)


def record_outcome(
    log: "FeedbackLog | None",
    answer: RoutedTools | str,
    tool_id: str,
    outcome: "Outcome | str",
    snapshot: str,
    caller: str | None,
) -> None:
    """Record what became of a tool of an answer, or which tool is right for the text of a request.

    Raises SettingsInvalid without a log and for an unknown outcome, RequestInvalid for an answer that no log keeps, an
    empty text and a wrong id.
    """
    if log is None:
        raise SettingsInvalid("the router keeps no feedback: open it with feedback=FeedbackLog(folder)")
    from router.feedback.events import MAX_NAME  # here: a router without a log needs none of it
    from router.feedback.log import parse_outcome

    if not isinstance(tool_id, str) or not 0 < len(tool_id) <= MAX_NAME:
        raise RequestInvalid(f"tool_id is {quoted(tool_id)}, it must be the id of a tool")
    if not isinstance(caller, str | None):
        raise RequestInvalid(f"caller is {quoted(caller)}, it must be a text")
    if not isinstance(answer, RoutedTools | str):
        raise RequestInvalid(f"answer is {quoted(answer)}, it must be an answer of route, or the text of a request")
    outcome = parse_outcome(outcome)
    if isinstance(answer, RoutedTools):
        if not answer.request_id:
            raise RequestInvalid("no feedback log keeps this answer: it was routed without one, or with feedback=False")
        request_id = answer.request_id
    else:
        request_id = log.offered(snapshot, (), request=clean_request(answer), caller=caller, named=True)
    log.report(request_id, tool_id, outcome, caller=caller)
