"""A router with a feedback log tells of its answers and of what became of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from router import FeedbackLog, Profile, QuartermasterError, RequestInvalid, Router, Selection, SettingsInvalid
from router.feedback import Offered, Reported
from tests.router.feedback.test_log import events_in

REFUND = "refund the customer"


@pytest.fixture
def logging_router(snapshot: Path, tmp_path: Path) -> Iterator[Router]:
    with Router.open(snapshot, feedback=FeedbackLog(tmp_path / "log", texts=True)) as router:
        yield router


def test_an_answer_and_its_outcome_are_tied_by_an_id(logging_router: Router, tmp_path: Path) -> None:
    routed = logging_router.route(REFUND, k=3, caller="night-shift")
    logging_router.feedback(routed, routed[1].tool_id, "succeeded", caller="night-shift")
    again = logging_router.route(REFUND, k=3, feedback=False)
    assert again == routed and again.request_id == "" and routed.to_json()["request_id"] == routed.request_id
    logging_router.feedback("give the money back", "stripe/create_refund", "succeeded")  # without an answer
    logging_router.close()
    offered, reported, told, _ = events_in(tmp_path / "log")
    assert isinstance(offered, Offered) and isinstance(reported, Reported) and isinstance(told, Offered)
    assert (told.request, told.tools) == ("give the money back", ())
    assert (offered.id, offered.tools, offered.request) == (routed.request_id, routed.ids, REFUND)
    assert offered.snapshot == routed.snapshot and offered.caller == reported.caller == "night-shift"
    assert (reported.id, reported.tool) == (routed.request_id, routed.ids[1])


def test_each_way_of_asking_is_an_answer_in_the_log_and_a_dialogue_keeps_no_text(
    logging_router: Router, tmp_path: Path
) -> None:
    always = logging_router.tools[0].tool_id
    answers = [
        *logging_router.route_many([REFUND, "open an issue"], k=1),
        logging_router.route("refund", k=2, selection=Selection(always=(always,))),
        logging_router.for_profile(Profile("some", limit=1)).route("refund", caller="some"),
        logging_router.route([REFUND, "and the same for Bob"]),
    ]
    logging_router.close()
    events = [event for event in events_in(tmp_path / "log") if isinstance(event, Offered)]
    assert [(event.id, event.tools) for event in events] == [(routed.request_id, routed.ids) for routed in answers]
    assert len({event.id for event in events}) == 5
    assert [event.request for event in events] == [REFUND, "open an issue", "refund", "refund", None]
    assert [event.always for event in events] == [(), (), (always,), (), ()] and len(answers[3]) == 1


@pytest.mark.parametrize("texts", [True, False])
def test_needs_are_kept_with_the_text_of_their_request_alone(snapshot: Path, tmp_path: Path, texts: bool) -> None:
    with Router.open(snapshot, feedback=FeedbackLog(tmp_path / "log", texts=texts)) as router:
        router.route(REFUND, needs=["find a charge", " "])
        router.route_many([REFUND, "rain"], needs=[[], ["forecast the weather"]])
        router.route([REFUND, "and the same for Bob"], needs=["refund Bob"])
    events = [event for event in events_in(tmp_path / "log") if isinstance(event, Offered)]
    kept = [("find a charge",), (), ("forecast the weather",), ()]
    assert [event.needs for event in events] == (kept if texts else [()] * 4)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"outcome": "loved"}, SettingsInvalid, "outcome is 'loved', it must be one of called, succeeded, failed"),
        ({"tool_id": ""}, RequestInvalid, "tool_id is '', it must be the id of a tool"),
        ({"caller": 5}, RequestInvalid, "caller is 5, it must be a text"),
        ({"answer": "  "}, RequestInvalid, "empty"),
    ],
)
def test_feedback_with_wrong_values_is_refused(
    logging_router: Router, change: dict[str, Any], error: type[QuartermasterError], says: str
) -> None:
    given = {"answer": logging_router.route(REFUND), "tool_id": "stripe/create_refund", "outcome": "succeeded"}
    with pytest.raises(error, match=says):
        logging_router.feedback(**{**given, **change})


def test_feedback_without_a_log_is_refused(router: Router, logging_router: Router) -> None:
    unlogged = router.route(REFUND)
    with pytest.raises(SettingsInvalid, match=r"open it with feedback=FeedbackLog\(folder\)"):
        router.feedback(unlogged, unlogged.ids[0], "succeeded")
    with pytest.raises(RequestInvalid, match="no feedback log keeps this answer"):
        logging_router.feedback(unlogged, unlogged.ids[0], "succeeded")
    with pytest.raises(SettingsInvalid, match="feedback is '/tmp', it must be a FeedbackLog"):
        Router.from_tools([len], encoder=None, feedback="/tmp")  # type: ignore[arg-type]
