"""What visitors send from the pages: reports on tools and suggested phrases, from these pages alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from quartermaster.serving.suggestions import Suggestion, SuggestionRefused, Suggestions
from router import FeedbackLog, Router
from tests.quartermaster.serving.conftest import Ask, basic
from tests.support.profiles import ALICE, written

REFUND, REQUEST = "stripe/create_refund", "give the customer their money back"
HERE = {"Origin": "http://localhost"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "suggestions.jsonl"


@pytest.fixture
def log(tmp_path: Path) -> FeedbackLog:
    return FeedbackLog(tmp_path / "feedback", texts=True)


@pytest.fixture
def client(client_of: Ask, snapshot: Path, file: Path, log: FeedbackLog) -> TestClient:
    return client_of(Router.open(snapshot, feedback=log), suggestions=file)


def suggest(client: TestClient, phrase: str, tool_id: str = REFUND, **headers: str) -> Any:
    fields = {"tool_id": tool_id, "phrase": phrase}
    return client.post("/suggest", data=fields, headers=headers or HERE, follow_redirects=False)


def test_a_suggestion_waits_in_the_file_once_and_the_page_says_so(client: TestClient, file: Path) -> None:
    for phrase in (" make them  whole", "make them whole", "undo it"):
        done = suggest(client, phrase)
        assert (done.status_code, done.headers["Location"]) == (303, f"/tools/{REFUND}?suggested=1")
    assert [(one.id, one.phrase, one.by) for one in Suggestions(file).read()] == [
        (REFUND, "make them whole", None),
        (REFUND, "undo it", None),
    ]
    assert file.stat().st_mode & 0o777 == 0o600
    page = client.get(done.headers["Location"]).text
    assert "waits for a person to review it" in page and "make them whole" not in page


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 303),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "null"}, 303),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": "http://localhost"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Referer": "http://localhost/"}, 403),  # neither header: no browser
    ],
)
def test_only_a_form_of_these_pages_is_taken_in(
    headers: dict[str, str], status: int, client: TestClient, file: Path
) -> None:
    assert suggest(client, "make them whole", **headers).status_code == status
    report = {"tool_id": REFUND, "request": REQUEST, "outcome": "rejected"}
    done = client.post("/report", data=report, headers=headers or HERE, follow_redirects=False)
    assert (done.status_code, file.exists()) == (status, status == 303)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"data": {"tool_id": "gone/tool", "phrase": "a"}}, 404),
        ({"data": {"tool_id": REFUND, "phrase": "  "}}, 422),
        ({"data": {"tool_id": REFUND, "phrase": "a" * 201}}, 422),
        ({"data": {"tool_id": REFUND, "phrase": "a" * 70_000}}, 413),
        ({"data": {str(number): "a" for number in range(40)}}, 400),
        ({"json": {"tool_id": REFUND, "phrase": "a"}}, 415),
    ],
)
def test_what_is_no_suggestion_is_refused_and_nothing_is_kept(
    sent: dict[str, Any], status: int, client: TestClient, file: Path
) -> None:
    assert client.post("/suggest", headers=HERE, **sent).status_code == status
    assert not file.exists()


@pytest.mark.parametrize(
    ("accept", "as_page"),
    [("text/html,application/xhtml+xml,*/*;q=0.8", True), ("application/json, text/html;q=0.5", False), ("*/*", False)],
)
def test_what_is_refused_is_a_page_to_a_browser_and_json_to_a_program(
    accept: str, as_page: bool, client: TestClient
) -> None:
    headers = {**HERE, "Accept": accept}
    sent = client.post("/suggest", data={"tool_id": "<b>gone</b>", "phrase": "a"}, headers=headers)
    for answer in (sent, client.get("/nowhere", headers=headers)):
        assert (answer.status_code, "<main" in answer.text) == (404, as_page)
        assert answer.headers["Content-Type"].startswith("text/html" if as_page else "application/json")
    assert ("&lt;b&gt;gone" in sent.text) == as_page
    assert client.get("/v1/nowhere", headers=headers).json()["error"]["type"] == "not_found"


def test_a_report_is_kept_with_its_request_and_leads_back_to_the_answer(client: TestClient, log: FeedbackLog) -> None:
    assert 'action="/report"' in client.get("/", params={"request": REQUEST}).text
    fields = {"tool_id": REFUND, "request": REQUEST, "k": "3", "outcome": "rejected"}
    page = client.post("/report", data=fields, headers=HERE).text
    assert "is wrong for this request" in page and f'value="{REQUEST}"' in page
    assert client.post("/report", data={**fields, "outcome": "called"}, headers=HERE).status_code == 422
    log.flush()
    lines = [json.loads(line) for part in log.folder.iterdir() for line in part.read_text().splitlines()]
    offered, reported = lines
    assert (offered["request"], offered["named"]) == (REQUEST, True)
    assert (reported["id"], reported["tool"], reported["outcome"]) == (offered["id"], REFUND, "rejected")


def test_without_a_log_and_a_file_there_are_no_forms(client_of: Ask) -> None:
    client = client_of()
    assert suggest(client, "a").status_code == 404
    for path in (f"/?request={REQUEST}", f"/tools/{REFUND}"):
        assert 'method="post"' not in client.get(path).text


def test_a_profile_suggests_for_the_tools_that_it_sees_under_its_tokens_name(
    client_of: Ask, snapshot: Path, file: Path, tmp_path: Path
) -> None:
    profiles = written(tmp_path / "profiles.toml", first='audit = "audit.jsonl"')
    client = client_of(Router.open(snapshot), suggestions=file, profiles=profiles)
    assert suggest(client, "a", **HERE, **basic(ALICE)).status_code == 303
    assert suggest(client, "a", "stripe/list_charges", **HERE, **basic(ALICE)).status_code == 404
    assert suggest(client, "a").status_code == 401
    assert [(one.id, one.by) for one in Suggestions(file).read()] == [(REFUND, "alice")]
    told = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [(row["path"], row["described"], row["outcome"]) for row in told][:1] == [("POST /suggest", [REFUND], "303")]


def test_a_full_file_takes_no_more_until_some_are_taken_out(file: Path) -> None:
    suggestions = Suggestions(file)
    row = {"id": REFUND, "phrase": "a" * 200, "at": "2026-01-01T00:00:00Z"}
    file.write_text("".join(json.dumps({**row, "id": f"{REFUND}{n}"}) + "\n" for n in range(3_720)), encoding="utf-8")
    with pytest.raises(SuggestionRefused, match="must be reviewed first"):
        suggestions.add(REFUND, "b" * 200, None)
    assert len(suggestions.take(lambda one: one.id.endswith("0"))) == 372
    suggestions.add(REFUND, "b", None)
    assert isinstance(suggestions.read(REFUND)[0], Suggestion)
