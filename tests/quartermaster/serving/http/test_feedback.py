"""POST /v1/feedback: a client says what became of an answer, by the id that the answer has."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from pipeline.feedback import Answers, join_answers, read_events
from router import FeedbackLog, Outcome, Router
from tests.quartermaster.serving.conftest import Ask
from tests.support.profiles import ALICE, BOB, written


@pytest.fixture
def log(tmp_path: Path) -> Iterator[FeedbackLog]:
    log = FeedbackLog(tmp_path / "log", texts=True)
    yield log
    log.close()


def stored(log: FeedbackLog) -> Answers:
    assert log.flush()
    return join_answers(read_events(log.folder))


def post(client: TestClient, path: str, token: str = "", **body: Any) -> tuple[int, dict[str, Any]]:
    response = client.post(path, json=body, headers={"Authorization": f"Bearer {token}"} if token else {})
    return response.status_code, response.json() if response.content else {}


def test_a_client_reports_by_the_id_of_its_answer(client_of: Ask, snapshot: Path, log: FeedbackLog) -> None:
    client = client_of(Router.open(snapshot, feedback=log))
    status, answer = post(client, "/v1/route", request="refund the customer", k=3)
    assert status == 200
    tool_id = "stripe/create_refund"
    report = {"request_id": answer["request_id"], "tool_id": tool_id, "outcome": "succeeded"}
    assert post(client, "/v1/feedback", **report) == (204, {})
    (found,) = stored(log).answers  # the first route, which warms the encoder up, is not kept
    assert found.request == "refund the customer" and found.outcomes == {tool_id: Outcome.SUCCEEDED}


def test_an_answer_that_the_client_keeps_to_itself_is_in_no_log(
    client_of: Ask, snapshot: Path, log: FeedbackLog
) -> None:
    client = client_of(Router.open(snapshot, feedback=log))
    _, answer = post(client, "/v1/route", request="refund the customer", feedback=False)
    client.get("/", params={"request": "refund the customer"})  # somebody looks at the page
    assert answer["request_id"] == "" and stored(log).answers == ()


def test_a_server_without_a_log_has_no_such_path(client: TestClient) -> None:
    assert post(client, "/v1/feedback", request_id="0" * 32, tool_id="a", outcome="called")[0] == 404
    assert post(client, "/v1/route", request="refund")[1]["request_id"] == ""


def test_a_report_that_is_wrong_is_refused(client_of: Ask, snapshot: Path, log: FeedbackLog) -> None:
    client = client_of(Router.open(snapshot, feedback=log))
    report = {"request_id": "0" * 32, "tool_id": "stripe/create_refund", "outcome": "called"}
    for field, value, expected in (
        ("request_id", "x", 422),
        ("outcome", "loved", 422),
        ("tool_id", "nobody/knows", 404),
        ("text", "more", 422),
    ):
        status, failure = post(client, "/v1/feedback", **{**report, field: value})
        assert (status, failure["error"]["field"]) == (expected, field)


def test_a_caller_reports_on_its_own_answers_and_its_own_tools_alone(
    client_of: Ask, snapshot: Path, log: FeedbackLog, tmp_path: Path
) -> None:
    client = client_of(Router.open(snapshot, feedback=log), profiles=written(tmp_path / "profiles.toml"))
    _, answer = post(client, "/v1/route", ALICE, request="refund the customer")
    tool_id = answer["tools"][0]["tool_id"]
    report = {"request_id": answer["request_id"], "tool_id": tool_id, "outcome": "succeeded"}
    assert post(client, "/v1/feedback", BOB, **report)[0] == 404  # outside of Bob's profile
    assert post(client, "/v1/feedback", ALICE, **report)[0] == 204
    found = stored(log)
    assert [(one.caller, dict(one.outcomes)) for one in found.answers] == [("alice", {tool_id: Outcome.SUCCEEDED})]
