"""A router with a feedback log tells of its answers and of what became of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from router import FeedbackLog, Profile, RequestInvalid, Router, Selection, SettingsInvalid
from router.feedback import Offered, Reported
from tests.router.feedback.test_log import events_in


@pytest.fixture
def logging_router(snapshot: Path, tmp_path: Path) -> Iterator[Router]:
    with Router.open(snapshot, feedback=FeedbackLog(tmp_path / "log", texts=True)) as router:
        yield router


def test_an_answer_and_its_outcome_are_tied_by_an_id(logging_router: Router, tmp_path: Path) -> None:
    routed = logging_router.route("refund the customer", k=3, caller="night-shift")
    logging_router.feedback(routed, routed[1].tool_id, "succeeded", caller="night-shift")
    logging_router.close()
    offered, reported = events_in(tmp_path / "log")
    assert isinstance(offered, Offered) and isinstance(reported, Reported)
    assert (offered.id, offered.tools, offered.request) == (routed.request_id, routed.ids, "refund the customer")
    assert offered.snapshot == routed.snapshot and offered.caller == reported.caller == "night-shift"
    assert (reported.id, reported.tool) == (routed.request_id, routed.ids[1])


def test_the_same_request_gives_the_same_answer_under_another_id(logging_router: Router) -> None:
    first, second = (logging_router.route("refund the customer") for _ in range(2))
    assert first == second and first.request_id != second.request_id
    assert first.to_json()["request_id"] == first.request_id


def test_many_requests_are_many_answers(logging_router: Router, tmp_path: Path) -> None:
    answers = logging_router.route_many(["refund", "open an issue"], k=1)
    logging_router.close()
    events = [event for event in events_in(tmp_path / "log") if isinstance(event, Offered)]
    assert [event.id for event in events] == [routed.request_id for routed in answers]
    assert [event.request for event in events] == ["refund", "open an issue"]


def test_an_answer_is_left_out_on_request_and_a_dialogue_keeps_no_text(logging_router: Router, tmp_path: Path) -> None:
    private = logging_router.route("refund the customer", feedback=False)
    logging_router.route(["refund the customer", "and the same for Bob"])
    logging_router.close()
    (event,) = events_in(tmp_path / "log")
    assert isinstance(event, Offered) and event.request is None and private.request_id == ""
    with pytest.raises(RequestInvalid, match="no feedback log keeps this answer"):
        logging_router.feedback(private, private.ids[0], "succeeded")


def test_the_right_tool_of_a_request_can_be_told_without_an_answer(logging_router: Router, tmp_path: Path) -> None:
    logging_router.feedback("give the money back", "stripe/create_refund", "succeeded")
    logging_router.close()
    offered, reported = events_in(tmp_path / "log")
    assert isinstance(offered, Offered) and isinstance(reported, Reported)
    assert (offered.request, offered.tools, offered.id) == ("give the money back", (), reported.id)


def test_tools_that_every_answer_has_stand_apart(logging_router: Router, tmp_path: Path) -> None:
    always = logging_router.tools[0].tool_id
    routed = logging_router.route("refund", k=2, selection=Selection(always=(always,)))
    logging_router.close()
    (event,) = events_in(tmp_path / "log")
    assert isinstance(event, Offered) and event.always == (always,) and event.tools == routed.ids


def test_a_profile_writes_to_the_same_log(logging_router: Router, tmp_path: Path) -> None:
    routed = logging_router.for_profile(Profile("some", limit=1)).route("refund", caller="some")
    logging_router.close()
    (event,) = events_in(tmp_path / "log")
    assert isinstance(event, Offered) and event.tools == routed.ids and len(routed) == 1


def test_feedback_without_a_log_or_with_wrong_values_is_refused(router: Router, logging_router: Router) -> None:
    routed = router.route("refund the customer")
    assert routed.request_id == ""
    with pytest.raises(SettingsInvalid, match=r"open it with feedback=FeedbackLog\(folder\)"):
        router.feedback(routed, routed.ids[0], "succeeded")
    kept = logging_router.route("refund the customer")
    with pytest.raises(SettingsInvalid, match="outcome is 'loved', it must be one of called, succeeded, failed"):
        logging_router.feedback(kept, kept.ids[0], "loved")
    with pytest.raises(RequestInvalid, match="tool_id is '', it must be the id of a tool"):
        logging_router.feedback(kept, "", "succeeded")
    with pytest.raises(RequestInvalid, match="caller is 5, it must be a text"):
        logging_router.feedback(kept, kept.ids[0], "succeeded", caller=5)  # type: ignore[arg-type]
    with pytest.raises(RequestInvalid, match="answer is 5, it must be an answer of route, or the text of a request"):
        logging_router.feedback(5, kept.ids[0], "succeeded")  # type: ignore[arg-type]
    with pytest.raises(RequestInvalid):
        logging_router.feedback("  ", kept.ids[0], "succeeded")
    with pytest.raises(SettingsInvalid, match="feedback is '/tmp', it must be a FeedbackLog"):
        Router.from_tools([len], encoder=None, feedback="/tmp")  # type: ignore[arg-type]
