"""Text of strangers is shown for what it is. Errors are pages for browsers, and JSON for programs."""

from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote, urlsplit

from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from quartermaster.serving.page.rendering import _ENVIRONMENT, tool_path, visible_text
from tests.quartermaster.serving.conftest import TOKEN, Ask


def test_what_is_not_seen_is_shown_by_its_code_point() -> None:
    assert visible_text("a\u202eb\u0000c\u200bd\n\te") == "a⟦U+202E⟧b⟦U+0000⟧c⟦U+200B⟧d\n\te"
    assert visible_text("שלום, Ünïcode 日本") == "שלום, Ünïcode 日本"


def test_a_long_text_is_cut_and_its_length_said() -> None:
    assert visible_text("x" * 1_048_576, 5) == "xxxxx … (1,048,576 characters)"
    assert visible_text("xxxxx", 5) == "xxxxx"


def test_a_tools_path_leads_to_its_page_alone() -> None:
    assert tool_path("stripe/createRefund") == "/tools/stripe/createRefund"
    assert tool_path("../healthz") == "/tools/..%2Fhealthz"
    assert tool_path('a"><script>?#') == "/tools/a%22%3E%3Cscript%3E%3F%23"
    assert tool_path("//evil.example") == "/tools/%2F%2Fevil.example"


@given(st.text(min_size=1))
def test_any_id_comes_back_from_its_path(tool_id: str) -> None:
    path = urlsplit(f"http://localhost{tool_path(tool_id)}").path
    assert unquote(path.removeprefix("/tools/")) == tool_id


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)


@given(st.text() | st.sampled_from(["<script>alert(1)</script>", "' onload=x", '" onload="x', "]]><svg/onload=x>"]))
def test_no_text_becomes_markup(text: str) -> None:
    template = _ENVIRONMENT.from_string('<p title="{{ text|visible }}">{{ text|visible }}</p>')
    parser = _Tags()
    parser.feed(template.render(text=text))
    assert parser.tags == ["p"]


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
