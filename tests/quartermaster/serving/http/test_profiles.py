"""Who may see what over HTTP: no path names a tool outside of the caller's profile, or tells that there is one."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.testclient import TestClient

from quartermaster.serving.http import HttpSettings
from quartermaster.serving.http.metrics import Metrics
from quartermaster.serving.http.service import Service
from quartermaster.serving.profiles import CALLER, Callers
from router import Router
from tests.quartermaster.serving.conftest import TOKEN, Ask, basic, bearer
from tests.support.factories import TOOLS
from tests.support.profiles import ALICE, BOB, FILE, ROOT_TOKEN, SUPPORT, written

IDS = [tool["id"] for tool in TOOLS]
OUTSIDE = sorted(set(IDS) - SUPPORT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("profiles")


@pytest.fixture(scope="module")
def served(client_of: Ask, workspace: Path, folder: Path) -> TestClient:
    """A server with everything on: pages, comparison, inspection, changes, an audit log."""
    from quartermaster.cli.commands.serve import open_inspection

    path = written(folder / "profiles.toml", first='audit = "audit.jsonl"')
    router = Router.open(workspace / "snapshots" / "office")
    return client_of(router, open_inspection, profiles=path, overlay=folder / "overlay.json")


_names = st.lists(st.sampled_from([*IDS, "*", "*list*", "nobody/knows", "linear/*"]), max_size=4)
_OPTIONAL = {
    "selection": st.fixed_dictionaries({"allow": _names, "block": _names, "always": _names}),
    "form": st.sampled_from(["openai", "anthropic", "mcp"]),
    "detail": st.sampled_from(["full", "signature"]),
    "token_budget": st.integers(1, 3_000),
    "category": st.just("issues"),
    "recipe": st.sampled_from(["published", "lexical"]),
}
_bodies = st.fixed_dictionaries({"k": st.integers(1, 20), "explain": st.booleans()}, optional=_OPTIONAL)
_requests = st.sampled_from(
    ["file a ticket for the team", "will it rain tomorrow", "undo a payment", "show every room"]
)


def _outside(text: str, named: list[str]) -> list[str]:
    """The tools outside of the profile that an answer names, and the request did not."""
    told = [tool["id"] for tool in TOOLS if tool["id"] in OUTSIDE and tool["id"] in text and tool["id"] not in named]
    descriptions = [tool["description"] for tool in TOOLS if tool["id"] in OUTSIDE and tool["description"] in text]
    return told + descriptions


@given(body=_bodies, request=_requests, many=st.booleans())
def test_no_answer_names_a_tool_outside_of_the_profile(
    served: TestClient, body: dict[str, Any], request: str, many: bool
) -> None:
    asked = {**body, "requests": [request, "list all"]} if many else {**body, "request": request}
    response = served.post("/v1/route-many" if many else "/v1/route", json=asked, headers=bearer(ALICE))
    assert response.status_code == 200
    answers = response.json()["answers"] if many else [response.json()]
    assert all(len(answer["tools"]) <= 3 for answer in answers)  # the profile's limit
    named = [name for names in body.get("selection", {}).values() for name in names]
    assert _outside(response.text, named) == []
    ids = {tool["tool_id"] for answer in answers for tool in (*answer["tools"], *answer["always"])}
    assert ids <= SUPPORT


@pytest.mark.parametrize(
    "path",
    [
        "/v1/tools?limit=500",
        "/v1/tools?after=linear",
        "/v1/snapshot",
        "/",
        "/?request=file+a+ticket+for+the+team&k=20&allow=*",
        "/tools",
        "/tools?q=issue",
        "/tools?provider=linear",
        "/tools/stripe/create_refund",
        "/tools/stripe/create_refund?request=file+a+ticket",
        "/builds",
        "/misses",
        "/left-out",
        "/openapi.json",
        "/metrics",
    ],
)
def test_no_other_path_and_no_page_does(served: TestClient, path: str) -> None:
    response = served.get(path, headers={**basic(ALICE), **(bearer(ALICE) if path.startswith("/v1") else {})})
    assert _outside(response.text, []) == []
    for provider in ("weather", "github"):
        assert provider not in response.text.replace("get_weather", "").replace("the weather in", "")
    assert response.status_code == (404 if path == "/metrics" else 200)
    whole = served.get(path, headers={**basic(ROOT_TOKEN), **(bearer(ROOT_TOKEN) if path.startswith("/v1") else {})})
    assert whole.status_code == 200


def test_counts_are_those_of_the_profile(served: TestClient) -> None:
    assert served.get("/v1/tools", headers=bearer(ALICE)).json()["total"] == len(SUPPORT)
    snapshot = served.get("/v1/snapshot", headers=bearer(ALICE)).json()
    assert (snapshot["tools"], snapshot["counts"], snapshot["generators"]) == (2, {"tools": 2}, {})


def test_builds_which_name_tools_are_shown_to_who_sees_all_of_them(served: TestClient) -> None:
    shown = {token: served.get("/builds", headers=bearer(token)).text for token in (ALICE, ROOT_TOKEN)}
    assert "without access to catalog.duckdb" in shown[ALICE] and "run 1" not in shown[ALICE]
    assert "run 1" in shown[ROOT_TOKEN]


def test_the_page_of_misses_says_that_none_is_judged_to_who_sees_all(served: TestClient) -> None:
    shown = {token: served.get("/misses", headers=basic(token)).text for token in (ALICE, ROOT_TOKEN)}
    assert ["No request of this catalog is judged" in shown[token] for token in (ALICE, ROOT_TOKEN)] == [False, True]


@pytest.mark.parametrize("path", ["/v1/tools/", "/tools/"])
def test_a_tool_outside_is_answered_as_one_that_does_not_exist(served: TestClient, path: str) -> None:
    headers = bearer(ALICE)
    missing = served.get(f"{path}linear/create_isle", headers=headers)
    outside = served.get(f"{path}linear/create_issue", headers=headers)
    assert outside.status_code == missing.status_code == 404
    assert outside.text.replace("issue", "") == missing.text.replace("isle", "")
    kept = [(name, value) for name, value in outside.headers.items() if name not in ("x-request-id", "content-length")]
    assert kept == [(n, v) for n, v in missing.headers.items() if n not in ("x-request-id", "content-length")]


def test_only_a_token_that_may_changes_tools(served: TestClient) -> None:
    tools = {"tools": [{"name": "meet", "description": "Start a video meeting."}]}
    for token in (ALICE, BOB):
        for response in (
            served.put("/v1/sources/zoom", json=tools, headers=bearer(token)),
            served.delete("/v1/tools/linear/create_issue", headers=bearer(token)),
            served.delete("/v1/tools/nobody/knows", headers=bearer(token)),
        ):
            assert (response.status_code, response.json()["error"]["type"]) == (403, "forbidden")
    changed = served.put("/v1/sources/zoom", json=tools, headers=bearer(ROOT_TOKEN))
    assert changed.json()["registered"] == ["zoom/meet"]
    assert served.get("/v1/tools/zoom/meet", headers=bearer(ALICE)).status_code == 404


def test_known_callers_are_told_why_they_are_refused(client_of: Ask, router: Router, tmp_path: Path) -> None:
    text = FILE.replace(
        "[tokens.bob]", "expires = 2020-01-01T00:00:00Z\n\n    [tokens.bob]\n    requests_per_minute = 10"
    )
    client = client_of(router, profiles=written(tmp_path / "p.toml", text, 'audit = "audit.jsonl"'))
    expired = client.get("/v1/tools", headers=bearer(ALICE))
    assert (expired.status_code, expired.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert "expired at 2020-01-01T00:00:00Z" in expired.json()["error"]["message"]
    assert client.get("/v1/tools", headers=bearer(BOB)).status_code == 200
    limited = client.get("/v1/tools", headers=bearer(BOB))
    assert (limited.status_code, int(limited.headers["Retry-After"]) > 0) == (429, True)
    assert client.get("/v1/tools", headers=bearer(TOKEN)).status_code == 401
    assert client.get("/v1/tools").status_code == 401
    assert client.get("/healthz").status_code == 200
    rows = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [(row["token"], row["outcome"]) for row in rows] == [("alice", "401"), ("bob", "200"), ("bob", "429")]


@pytest.mark.parametrize("texts", [False, True])
def test_the_audit_log_says_who_was_offered_and_shown_what(
    client_of: Ask, router: Router, tmp_path: Path, texts: bool
) -> None:
    first = f'audit = "audit.jsonl"\naudit_text = {str(texts).lower()}'
    client = client_of(router, profiles=written(tmp_path / "p.toml", first=first))
    wish = {"request": "give my secret customer their money back", "needs": ["find a secret person"]}
    answer = client.post("/v1/route", json=wish, headers=bearer(ALICE))
    for path in ("tools/stripe/create_refund", "tools/linear/create_issue", "snapshot"):  # the last hands no tool out
        client.get(f"/v1/{path}", headers=bearer(ALICE))
    content = (tmp_path / "audit.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in content.splitlines()]
    assert [(row["path"], row["outcome"], row["offered"], row["described"]) for row in rows] == [
        ("POST /v1/route", "200", [tool["tool_id"] for tool in answer.json()["tools"]], []),
        ("GET /v1/tools/{tool_id:path}", "200", [], ["stripe/create_refund"]),
        ("GET /v1/tools/{tool_id:path}", "404", [], []),
    ]
    assert {(row["token"], row["profile"]) for row in rows} == {("alice", "support")}
    assert rows[0]["request"] == answer.headers["X-Request-Id"]
    assert ("secret customer" in content) is ("secret person" in content) is texts
    assert ALICE not in content


def test_an_answer_that_cannot_be_recorded_is_withheld(client_of: Ask, router: Router, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    client = client_of(router, profiles=written(tmp_path / "p.toml", first='audit = "log/audit.jsonl"'))
    (log / "audit.jsonl").unlink()
    log.rmdir()
    response = client.post("/v1/route", json={"request": "undo a payment"}, headers=bearer(ALICE))
    assert (response.status_code, response.json()["error"]["type"]) == (503, "unavailable")
    assert "stripe" not in response.text


def test_a_request_that_passed_no_guard_is_not_answered_at_all(router: Router, profiles_file: Path) -> None:
    service = Service(router, HttpSettings(), Metrics(router), Callers(profiles_file, router))
    with pytest.raises(KeyError, match=CALLER):
        service.caller_of(Request({"type": "http", "headers": []}))
