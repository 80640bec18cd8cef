"""POST /v1/route, /v1/route-many and /v1/feedback answer what the router answers, and refuse what it would refuse."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from pipeline.feedback import Answers, join_answers, read_events
from router import FeedbackLog, Outcome, ProviderFormat, Router, Selection
from tests.quartermaster.serving.conftest import Ask
from tests.support.factories import make_record
from tests.support.profiles import ALICE, BOB, written

REQUEST = "give the customer their money back"


def asked(client: TestClient, **body: Any) -> dict[str, Any]:
    response = client.post("/v1/route", json=body)
    assert response.status_code == 200, response.text
    return dict(response.json())


def test_an_answer_is_the_routers_own(client: TestClient, router: Router) -> None:
    answer = asked(client, request=REQUEST, k=3, explain=True)
    told = router.route(REQUEST, k=3, explain=True).to_json()
    assert answer.pop("rendered") is None
    assert answer.pop("ms").keys() >= told.pop("ms").keys()
    for tool in answer["tools"]:
        assert (tool["record"].pop("withheld"), tool["record"].pop("unusable")) == ([], "")
    assert answer == told
    assert answer["tools"][0]["tool_id"] == "stripe/create_refund"


def test_a_dialogue_is_routed_by_what_the_user_said(client: TestClient, router: Router) -> None:
    messages = [
        {"role": "user", "content": "log a bug in linear"},
        {"role": "assistant", "content": "Done. Anything else?"},
        {"role": "user", "content": REQUEST},
    ]
    answer = asked(client, request=messages, k=3)
    assert tuple(tool["tool_id"] for tool in answer["tools"]) == router.route(messages, k=3).ids
    assert asked(client, request=[REQUEST], k=3)["tools"] == asked(client, request=REQUEST, k=3)["tools"]


@pytest.mark.parametrize("form", ProviderFormat)
def test_tools_come_in_the_form_that_is_asked_for_with_the_way_back(client: TestClient, form: ProviderFormat) -> None:
    answer = asked(client, request=REQUEST, k=3, form=form)
    rendered = answer["rendered"]
    assert len(rendered["tools"]) == 3
    assert list(rendered["names"].values()) == [tool["tool_id"] for tool in answer["tools"]]


def test_a_tool_that_cannot_be_called_shows_what_its_name_hides() -> None:
    router = Router.from_tools([make_record("pay\u202e\x1b[31m")], encoder=None)
    row = router.handed(router.tools[0]).to_json()
    assert (row["tool_id"], row["name"]) == ("stripe/pay⟦U+202E⟧⟦U+001B⟧[31m", "pay⟦U+202E⟧⟦U+001B⟧[31m")
    assert "cannot be shown" in row["unusable"]


def test_a_selection_filters_and_says_what_it_left_out(client: TestClient) -> None:
    answer = asked(client, request=REQUEST, k=8, explain=True, selection={"block": ["stripe/*"]})
    assert not [tool for tool in answer["tools"] if tool["tool_id"].startswith("stripe/")]
    assert {"tool_id": "stripe/create_refund", "by": "block"}.items() <= answer["dropped"][0].items()


def test_no_tool_left_is_an_answer_or_where_that_is_wanted_not_found(client: TestClient) -> None:
    nobody = {"providers": ["nobody"]}
    assert asked(client, request=REQUEST, selection=nobody)["tools"] == []
    refused = client.post("/v1/route", json={"request": REQUEST, "selection": {**nobody, "fallback_to_empty": False}})
    assert (refused.status_code, refused.json()["error"]["type"]) == (404, "not_found")


def test_many_requests_are_answered_in_their_order_by_one_snapshot(client: TestClient, router: Router) -> None:
    requests = ["will it rain tomorrow", REQUEST, "notify the on-call channel"]
    answers = client.post("/v1/route-many", json={"requests": requests, "k": 2}).json()["answers"]
    assert [[tool["tool_id"] for tool in answer["tools"]] for answer in answers] == [
        list(router.route(request, k=2).ids) for request in requests
    ]
    assert len({answer["snapshot"] for answer in answers}) == 1


def test_needs_are_those_of_a_request_and_of_many_a_list_for_each(client: TestClient, router: Router) -> None:
    needs = ["refund a charge in full", "send a message to a channel"]
    answer = asked(client, request="sort it out", needs=needs, k=8, explain=True)
    assert [tool["tool_id"] for tool in answer["tools"]] == [*router.route("sort it out", needs=needs, k=8).ids]
    assert (answer["needs"], answer["uncovered"]) == (needs, [])
    assert {tool["step"] for tool in answer["tools"]} == {*needs}
    body = {"requests": ["sort it out", "will it rain"], "needs": [needs, []], "k": 8}
    first, second = client.post("/v1/route-many", json=body).json()["answers"]
    assert [tool["tool_id"] for tool in first["tools"]] == [tool["tool_id"] for tool in answer["tools"]]
    assert (first["needs"], second["needs"]) == (needs, [])
    none = client.post("/v1/route-many", json={**body, "needs": None}).json()["answers"]
    assert [answer["needs"] for answer in none] == [[], []]
    for path, wrong, said in (
        ("/v1/route-many", {**body, "needs": [needs]}, "needs holds 1 list for 2 requests"),
        ("/v1/route", {"request": "x", "needs": [*"abcdefghijklm"]}, "13 needs, at most 12"),
        ("/v1/route", {"request": "x", "needs": "refund"}, "needs is 'refund', it must be a list"),
    ):
        refused = client.post(path, json=wrong)
        assert refused.status_code == 422 and said in refused.json()["error"]["message"]


def test_many_requests_of_many_tools_are_refused_with_the_most(client: TestClient) -> None:
    def refused(**body: Any) -> str:
        response = client.post("/v1/route-many", json={"requests": ["undo a payment"] * 20, **body})
        assert response.status_code == 422
        return str(response.json()["error"]["message"])

    assert "20 requests of k = 51 ask for 1,020 tools; the limit is 1,000" in refused(k=51)
    always = [f"stripe/tool_{number}" for number in range(50)]  # they count in each request
    told = refused(k=1, selection={"always": always})
    assert "20 requests of k = 1 and 50 in `always` ask for 1,020 tools" in told
    body = {"requests": ["undo a payment"] * 20, "k": 1, "selection": {"always": always[:49]}}
    assert client.post("/v1/route-many", json=body).status_code == 200


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ([], "", "the body is [], it must be a table of names and values"),
        ({}, "request", "request is missing"),
        ({"request": ""}, "request", ""),
        ({"request": " \n"}, "request", ""),
        ({"request": "x" * 20_001}, "request", ""),
        ({"request": []}, "request", ""),
        ({"request": ["ok", {"role": "nobody", "content": "x"}]}, "request[1].role", ""),
        ({"request": [{"role": "assistant", "content": "How can I help?"}]}, None, "no message of 1"),
        ({"request": 7}, "request", ""),
        ({"request": "x", "k": 0}, "k", "k is 0, it must be a whole number from 1 to 128"),
        ({"request": "x", "k": 129}, "k", ""),
        ({"request": "x", "k": "3"}, "k", "k is '3', it must be a whole number"),
        ({"request": "x", "explain": 1}, "explain", "explain is 1, it must be true or false"),
        ({"request": "x", "recipe": "unheard of"}, "recipe", "it must be one of default, "),
        ({"request": "x", "form": "smoke signals"}, "form", ""),
        ({"request": "x", "selection": {"min_combined_score": 1.5}}, "selection.min_combined_score", ""),
        ({"request": "x", "selection": {"allowed": []}}, "selection.allowed", ""),
        ({"request": "x", "selection": {"allow": "x"}}, "selection.allow", "selection.allow is 'x', it must be a list"),
        ({"request": "x", "category_confidence": -1}, "category_confidence", ""),
        ({"request": "x", "kk": 1}, "kk", "there is no field kk: choose from needs, k, "),
    ],
)
def test_what_is_wrong_is_refused_named_and_told_in_plain_english(
    client: TestClient, body: Any, field: str | None, message: str
) -> None:
    response = client.post("/v1/route", json=body)
    error = response.json()["error"]
    assert (response.status_code, error["type"], error.get("field", None if field is None else "")) == (
        422,
        "invalid",
        field,
    )
    assert error["message"] and message in error["message"]
    assert not any(jargon in error["message"] for jargon in ("Expected", "`", "$"))


@pytest.mark.parametrize(
    ("content", "kind", "status", "type"),
    [
        (b'{"request": ', "application/json", 400, "malformed"),
        # As curl sends it by itself, and pages elsewhere without asking.
        (b'{"request": "refund"}', None, 415, "no_json"),
        (b'{"request": "refund"}', "text/plain", 415, "no_json"),
        (b'{"request": "refund"}', "application/x-www-form-urlencoded", 415, "no_json"),
        (b'{"request": "\\ud800"}', "application/json", 400, "malformed"),  # half a surrogate pair
        (b'{"request": "\xed\xa0\x80"}', "application/json", 400, "malformed"),  # and its bytes, which are no UTF-8
        (b'{"\xff": "x"}', "application/json", 400, "malformed"),
        (b'{"request": "x", "\\ud800": 1}', "application/json", 400, "malformed"),
        (b'{"request": "x", "category": "\\udfff"}', "application/json", 400, "malformed"),
    ],
)
def test_a_body_that_is_no_json_or_is_not_said_to_be_is_refused(
    client: TestClient, content: bytes, kind: str | None, status: int, type: str
) -> None:
    response = client.post("/v1/route", content=content, headers={"Content-Type": kind} if kind else {})
    assert (response.status_code, response.json()["error"]["type"]) == (status, type)
    if status == 415:
        assert "Content-Type: application/json" in response.json()["error"]["message"]


@pytest.mark.parametrize("depth", [100, 900, 100_000])
@pytest.mark.parametrize("body", ['{"request": %s}', '{"request": "a", "selection": {"annotations": {"a": %s}}}', "%s"])
def test_a_body_nested_without_end_is_a_typed_error(client: TestClient, body: str, depth: int) -> None:
    nested = body % ("[" * depth + "]" * depth)
    refused = client.post("/v1/route", content=nested, headers={"Content-Type": "application/json"})
    assert refused.status_code in (400, 422)
    error = refused.json()["error"]
    assert error["type"] in ("malformed", "invalid")
    if depth > 900:
        assert error["message"] == "the body cannot be read: it is nested too deep"


def test_a_server_selection_holds_where_a_request_brings_none(client_of: Ask, snapshot: Any) -> None:
    with Router.open(snapshot, selection=Selection(block=("stripe/*",))) as router:
        client = client_of(router)
        ids = [tool["tool_id"] for tool in asked(client, request=REQUEST, k=8)["tools"]]
        assert ids and not [tool_id for tool_id in ids if tool_id.startswith("stripe/")]
        assert asked(client, request=REQUEST, k=1, selection={})["tools"][0]["tool_id"] == "stripe/create_refund"


def test_a_selection_of_many_globs_is_refused_at_once(client_of: Ask) -> None:
    client = client_of(max_wildcards=20)
    assert asked(client, request=REQUEST, selection={"allow": ["stripe/*"] * 20})["tools"]
    selection = {"block": ["*a*b*c*"] * 100}
    for path, asks in (("route", {"request": REQUEST}), ("route-many", {"requests": [REQUEST]})):
        refused = client.post(f"/v1/{path}", json={**asks, "selection": selection})
        assert refused.status_code == 422
        told = "allow and block have 400 wildcards (* ? [), a request may have 20 at most (--max-wildcards)"
        assert refused.json()["error"]["message"] == f"selection: {told}"


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
