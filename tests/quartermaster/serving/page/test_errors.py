"""Errors are pages for browsers, and JSON for programs."""

from typing import Any

from starlette.testclient import TestClient

from tests.quartermaster.serving.conftest import TOKEN, Ask

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


def test_a_browser_gets_a_page_where_there_is_none(client: TestClient) -> None:
    response = client.get("/no/such/page", headers=BROWSER)
    assert response.status_code == 404
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert int(response.headers["Content-Length"]) == len(response.content)
    assert "There is no such page." in response.text and "Content-Security-Policy" in response.headers
    assert "No such tool" in client.get("/tools/no/such", headers=BROWSER).text  # a page that is an error itself


def test_a_path_of_the_api_answers_in_json_whoever_asks_and_a_program_gets_json_everywhere(client: TestClient) -> None:
    for path in ("/v1/nothing", "/v1/tools/nobody", "/mcp"):
        assert client.get(path, headers=BROWSER).json()["error"]["type"] == "not_found"
    for accept in ("*/*", "application/json"):
        assert client.get("/no/such/page", headers={"Accept": accept}).json()["error"]["type"] == "not_found"


def test_the_page_of_a_refusal_keeps_its_headers_and_says_nothing_of_the_catalog(client_of: Ask) -> None:
    client = client_of(token=TOKEN)
    response = client.get("/tools", headers=BROWSER)
    assert response.status_code == 401 and "Basic" in response.headers["WWW-Authenticate"]
    assert "A token is required" in response.text
    assert "office" not in response.text and "stripe" not in response.text


def test_an_error_that_nobody_foresaw_is_a_page_without_its_reason(client_of: Ask, monkeypatch: Any) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("secret")

    client = client_of()
    monkeypatch.setattr("quartermaster.serving.page.catalog.excerpt", broken)
    response = client.get("/tools", headers=BROWSER)
    assert response.status_code == 500
    assert "An error in the server" in response.text and "secret" not in response.text
