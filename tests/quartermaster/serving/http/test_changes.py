"""Tools that clients with the token register and remove in the running server."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from router import Router
from router.answer.executor import THREADS
from tests.quartermaster.serving.conftest import TOKEN, Ask, bearer
from tests.support.factories import TOOLS

HEADERS = bearer(TOKEN)
LATE = {
    "name": "brew_coffee",
    "description": "Brews a cup of coffee.",
    "inputSchema": {"type": "object", "properties": {"cups": {"type": "integer"}}},
}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return tmp_path / "overlay.json"


@pytest.fixture
def client(client_of: Ask, saved: Path) -> TestClient:
    client = client_of(token=TOKEN, overlay=saved)
    client.headers.update(HEADERS)
    return client


def ids(client: TestClient, request: str) -> list[Any]:
    answer = client.post("/v1/route", json={"request": request, "k": 3}).json()
    return [tool["tool_id"] for tool in answer["tools"]]


def test_a_list_is_served_from_the_next_request_on_and_after_the_next_start(
    client: TestClient, saved: Path, snapshot: Path
) -> None:
    changed = client.put("/v1/sources/kitchen", json={"tools": [LATE]})
    assert changed.status_code == 200, changed.text
    assert changed.json() == {"registered": ["kitchen/brew_coffee"], "tools": len(TOOLS) + 1}
    assert "kitchen/brew_coffee" in ids(client, "brew a cup of coffee")
    listed = [tool["tool_id"] for tool in client.get("/v1/tools").json()["tools"]]
    assert listed == sorted([*(tool["id"] for tool in TOOLS), "kitchen/brew_coffee"])
    following = client.get("/v1/tools", params={"after": "kitchen/brew_coffee", "limit": 1}).json()["tools"]
    assert following[0]["tool_id"] == "linear/create_issue"
    assert "Brews a cup of coffee." in client.get("/tools/kitchen/brew_coffee").text
    with Router.open(snapshot, overlay=saved) as again:
        assert again.record("kitchen/brew_coffee")
    assert client.put("/v1/sources/kitchen", json={"tools": []}).json()["tools"] == len(TOOLS)
    assert "kitchen/brew_coffee" not in ids(client, "brew a cup of coffee")


@pytest.mark.parametrize("number", ["1" + "0" * 308, "-1" + "0" * 400, "1e400"])
def test_a_number_that_no_double_holds_is_refused_and_the_server_goes_on(client: TestClient, number: str) -> None:
    body = json.dumps({"tools": [LATE, {"name": "odd", "inputSchema": {"maximum": "?"}}]}).replace('"?"', number)
    refused = client.put("/v1/sources/kitchen", content=body, headers={"Content-Type": "application/json"})
    assert refused.status_code == 422, refused.text
    assert "tools[1]: the tool 'odd' cannot be used: it is not JSON" in refused.json()["error"]["message"]
    assert client.put("/v1/sources/kitchen", json={"tools": [LATE]}).status_code == 200


def test_tools_in_any_known_shape_are_registered(client: TestClient) -> None:
    tool = {"name": "boil", "arguments": [{"name": "cups", "type": "int", "desc": "How many."}]}
    assert client.put("/v1/sources/kitchen", json={"tools": [tool]}).status_code == 200
    (parameter,) = client.get("/v1/tools/kitchen/boil").json()["parameters"]
    assert (parameter["path"], parameter["type"], parameter["description"]) == ("cups", "integer", "How many.")


def test_a_removed_tool_is_served_no_more(client: TestClient) -> None:
    assert ids(client, "weather forecast: will it rain tomorrow")[0] == "weather/getForecast"
    assert client.delete("/v1/tools/weather/getForecast").json() == {"registered": [], "tools": len(TOOLS) - 1}
    assert "weather/getForecast" not in ids(client, "weather forecast: will it rain tomorrow")
    assert client.delete("/v1/tools/weather/getForecast").status_code == 404


def test_requests_are_answered_while_tools_are_registered(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    registering, done = threading.Event(), threading.Event()

    def slow(self: Router, source: str, tools: Any, *, strict: bool) -> tuple[()]:
        registering.set()
        assert done.wait(40)
        return ()

    monkeypatch.setattr(Router, "replace", slow)
    with ThreadPoolExecutor(THREADS + 2) as clients:
        try:
            put = partial(client.put, "/v1/sources/kitchen", json={"tools": []})
            changes = [clients.submit(put) for _ in range(THREADS + 1)]
            assert registering.wait(40)
            asked = clients.submit(client.get, "/v1/tools")
            assert asked.result(30).status_code == 200
            assert not any(change.done() for change in changes)
        finally:
            done.set()
    assert {change.result().status_code for change in changes} == {200}


def test_what_is_no_tool_is_refused_and_changes_nothing(client: TestClient, saved: Path) -> None:
    for tools in ([{"description": "nameless"}], [LATE, {"name": 7}], [{"name": "x", "inputSchema": 7}]):
        assert client.put("/v1/sources/kitchen", json={"tools": tools}).status_code == 422, tools
    assert client.put("/v1/sources/kitchen", json={"tools": "all"}).json()["error"]["field"] == "tools"
    assert client.get("/v1/snapshot").json()["tools"] == len(TOOLS)
    assert not saved.exists()


def test_a_method_that_a_tool_has_not_is_refused_with_all_that_it_has(client: TestClient) -> None:
    response = client.post("/v1/tools/weather/getForecast")
    assert response.status_code == 405
    assert set(response.headers["Allow"].split(", ")) == {"GET", "HEAD", "DELETE"}


def test_without_the_token_nothing_changes_and_without_the_option_there_is_no_way_to(
    client: TestClient, client_of: Ask
) -> None:
    closed = client_of(token=TOKEN)
    for asked, headers, put, delete in ((client, {}, 401, 401), (closed, HEADERS, 404, 405)):
        asked.headers.clear()
        assert asked.put("/v1/sources/kitchen", json={"tools": [LATE]}, headers=headers).status_code == put
        assert asked.delete("/v1/tools/weather/getForecast", headers=headers).status_code == delete
    operations = closed.get("/openapi.json", headers=HEADERS).json()["paths"].values()
    assert not {"put", "delete"} & {method for operation in operations for method in operation}
