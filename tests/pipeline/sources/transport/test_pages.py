"""Sources whose server declares further pages: read whole or not at all, from a real server on loopback."""

import json
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.errors import Unavailable
from pipeline.sources.transport import pages
from router.record import Origin
from tests.pipeline.sources.reading import api, read_one, stop_one
from tests.pipeline.sources.web import Web, serving

JSON_API, HAL = "application/vnd.api+json", "application/hal+json"


@pytest.fixture
def web() -> Iterator[Web]:
    """A server of one test."""
    with serving() as web:
        yield web


elsewhere = web  # another one, on another port
_read, _stop = partial(read_one, format="function"), partial(stop_one, format="function")


def _tools(*names: str, **more: Any) -> str:
    return json.dumps({"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names], **more})


def _next(link: str) -> dict[str, str]:
    return {"link": f'<{link}>; title="a=b"; rel="next last"'}


def _names(**source: Any) -> list[str]:
    reading = _read(**source)
    assert not reading.rejected
    return [tool.name for tool in reading.tools]


def test_pages_of_a_link_header_are_one_source_in_order_and_say_where_each_tool_stands(web: Web) -> None:
    url = web.page(_tools("a", "b"), path="/list?key=k", headers=_next("/list?page=2"))
    web.page(_tools("c"), path="/list?page=2", headers=_next("third"))
    web.page(_tools(), path="/third", headers={"link": '</list>; rel="first prev"'})
    reading = _read(url=url)
    where = url.partition("?")[0]
    assert [(tool.name, tool.origin) for tool in reading.tools] == [
        ("a", Origin(where, "/tools/0")),
        ("b", Origin(where, "/tools/1")),
        ("c", Origin(where, "page 2 /tools/0")),
    ]
    assert [target for target, _ in web.asked] == ["/list?key=k", "/list?page=2", "/third"]
    (coverage,) = reading.coverage
    assert (coverage.records, coverage.notices) == (3, ())


@pytest.mark.parametrize(
    ("first", "second", "headers", "source"),
    [
        ('[{"name": "a"}]', '[{"name": "b"}]', _next("/2"), {}),
        ('{"name": "a"}\n', '{"name": "b"}\n', _next("/2"), {"format": "jsonl"}),
        ("- name: a\n", "- name: b\n", {**_next("/2"), "content-type": "application/yaml"}, {}),
        (
            '{"x": [{"title": "a"}]}',
            '{"x": [{"title": "b"}]}',
            _next("/2"),
            {"fields": {"tools": "x", "name": "title"}},
        ),
        (_tools("a", links={"next": "/2"}), _tools("b"), {"content-type": f"{JSON_API}; charset=utf-8"}, {}),
        (_tools("a", links={"next": {"href": "2"}, "x": 1}), _tools("b"), {"content-type": JSON_API}, {}),
        (_tools("a", _links={"next": {"href": "/2"}}), _tools("b"), {"content-type": HAL}, {}),
        (_tools("a", **{"@odata.nextLink": "/2"}), _tools("b"), {"content-type": "application/json"}, {}),
        (_tools("a"), _tools("b"), {"link": "</2>; rel=next", "content-type": "text/html"}, {}),
    ],
    ids=["list", "jsonl", "yaml", "mapped", "json-api", "json-api-object", "hal", "odata", "unquoted"],
)
def test_lists_of_every_format_are_followed_where_a_standard_says_how(
    web: Web, first: str, second: str, headers: dict[str, str], source: dict[str, Any]
) -> None:
    web.page(second, path="/2")
    assert _names(url=web.page(first, path="/1", headers=headers), **source) == ["a", "b"]


@pytest.mark.parametrize("wrap", [lambda page: page, lambda page: {"jsonrpc": "2.0", "id": 1, "result": page}])
def test_cursors_of_mcp_answers_are_sent_back_to_the_address_as_it_was_written(web: Web, wrap: Any) -> None:
    answers = [
        json.loads(_tools("a", nextCursor="x/=")),
        json.loads(_tools("b", nextCursor="y")),
        json.loads(_tools("c")),
    ]
    url = web.page(json.dumps(wrap(answers[0])), path="/list?key=k")
    web.page(json.dumps(wrap(answers[1])), path="/list?key=k&cursor=x%2F%3D")
    web.page(json.dumps(wrap(answers[2])), path="/list?key=k&cursor=y")
    assert _names(url=url, headers={"X-Key": "k"}) == ["a", "b", "c"]
    assert [headers["x-key"] for _, headers in web.asked] == ["k"] * 3


@pytest.mark.parametrize(
    ("body", "place", "asked"),
    [
        (_tools("a", nextCursor="x"), "/nextCursor", 2),  # a saved answer: its server knows no cursor
        (_tools("a", next="/2"), "/next", 1),
        (_tools("a", links={"next": "/2"}), "/links/next", 1),
        (_tools("a", next_page_token="x"), "/next_page_token", 1),
        (_tools("a", has_more=True), "/has_more", 1),
    ],
)
def test_pages_that_no_standard_leads_to_are_told(web: Web, body: str, place: str, asked: int) -> None:
    reading = _read(url=web.page(body, path="/1"))
    assert [tool.name for tool in reading.tools] == ["a"] and len(web.asked) == asked
    (problem, *_) = reading.coverage[0].problems
    assert problem.startswith(f"{place} says that more pages follow")


def test_an_api_document_has_no_pages_and_that_is_told(web: Web) -> None:
    document = json.dumps(api({"/a": {"get": {"operationId": "found"}}}))
    reading = _read(url=web.page(document, headers=_next("/2")), format="openapi")
    assert [tool.name for tool in reading.tools] == ["found"] and len(web.asked) == 1
    assert "names a next page, which API documents do not have" in reading.coverage[0].problems[0]


@pytest.mark.parametrize(
    ("page", "told", "passes"),
    [
        ({"body": "", "status": 503}, "answered 503 Service Unavailable", True),
        ({"body": "", "status": 404}, "answered 404 Not Found", False),
        ({"body": _tools("b"), "status": 206}, "answered 206 Partial Content, which is not the whole document", True),
        ({"body": _tools("b"), "headers": {"content-length": "9999"}}, "broke off: RemoteProtocolError", True),
        ({"body": '{"error": "busy"}'}, "holds no function schemas", False),
        ({"body": "<!doctype html><p>Sign in"}, "gave a web page (HTML)", False),
        ({"body": _tools("b"), "headers": _next("/1")}, "leads to one page twice", False),
        (
            {"body": "", "status": 302, "headers": {"location": "file:///a"}},
            "redirects to an address that is not",
            False,
        ),
    ],
)
def test_a_source_of_which_one_page_fails_has_failed(web: Web, page: dict[str, Any], told: str, passes: bool) -> None:
    web.page(path="/2", **page)
    stopped = _stop(url=web.page(_tools("a"), path="/1", headers=_next("/2")))
    assert told in str(stopped)
    assert isinstance(stopped, Unavailable) is passes


def test_a_list_without_end_stops_at_its_limits(web: Web) -> None:
    for number in range(9):
        web.page(
            _tools(f"t{number}", _meta="x" * 300, nextCursor="c"), path=f"/{number}", headers=_next(f"/{number + 1}")
        )
    for limits, told, asked in (
        ({"pages": 3}, "has more than the 3 pages of limits.pages", 3),
        ({"tools": 4}, "holds more than the 4 tools of limits.tools", 5),
        ({"document_bytes": 1_000}, "gave more than the 1,000 bytes of limits.document_bytes", 3),
    ):
        web.asked.clear()
        limits = {"document_bytes": 10_000, **limits}
        assert told in str(_stop(url=f"{web.root}/0", limits=limits)) and len(web.asked) == asked


def test_all_pages_together_have_ten_times_the_seconds_of_one(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        web.page(_tools("t"), path=f"/{number}", headers=_next(f"/{number + 1}"))
    monkeypatch.setattr(pages, "time", SimpleNamespace(monotonic=iter([1_000, 1_299, 1_301]).__next__))
    stopped = _stop(url=f"{web.root}/0", timeout_s=30)
    assert isinstance(stopped, Unavailable) and "took more than the 30 s that timeout_s allows" in str(stopped)
    assert len(web.asked) == 2


def test_a_page_on_another_server_is_read_only_where_it_is_named_and_is_sent_no_header(
    web: Web, elsewhere: Web
) -> None:
    there = elsewhere.page(_tools("b"), headers=_next(f"{web.root}/3"))
    web.page(_tools("c"), path="/3")
    url = web.page(_tools("a"), headers=_next(there))
    stopped = _stop(url=url, headers={"X-Key": "k"})
    assert "leads its next page to another server, '127.0.0.1'" in str(stopped) and elsewhere.asked == []
    assert 'write redirect_hosts = ["127.0.0.1"]' in str(stopped)
    web.asked.clear()
    assert _names(url=url, headers={"X-Key": "k"}, redirect_hosts=["127.0.0.1"]) == ["a", "b", "c"]
    assert ["x-key" in headers for _, headers in (*web.asked, *elsewhere.asked)] == [True, False, False]


def test_a_link_is_relative_to_the_address_behind_redirects(web: Web) -> None:
    url = web.page("", path="/list", status=302, headers={"location": "/v2/list"})
    web.page(_tools("a"), path="/v2/list", headers=_next("more"))
    web.page(_tools("b"), path="/v2/more")
    assert _names(url=url) == ["a", "b"]


@pytest.mark.parametrize(
    ("status", "content_range", "answer"),
    [
        (206, "bytes 0-99/200", "206 Partial Content"),
        (206, "", "206 Partial Content"),
        (200, "bytes 0-99/200", "200 OK"),
        (200, "items 100-199/200", "200 OK"),
        (202, "", "202 Accepted"),
        (204, "", "204 No Content"),
    ],
)
def test_an_answer_that_says_that_it_is_not_whole_is_refused(
    web: Web, status: int, content_range: str, answer: str
) -> None:
    headers = {"content-range": content_range} if content_range else {}
    url = web.page("" if status == 204 else _tools("a"), status=status, headers=headers)
    stopped = _stop(url=url)
    assert str(stopped) == f"the url '{url}' answered {answer}, which is not the whole document"
    assert isinstance(stopped, Unavailable)


@pytest.mark.parametrize(("status", "content_range"), [(203, ""), (200, "items 0-0/1"), (200, "items 0-0/*")])
def test_an_answer_that_a_proxy_changed_or_whose_range_is_all_is_whole(
    web: Web, status: int, content_range: str
) -> None:
    assert _names(url=web.page(_tools("a"), status=status, headers={"content-range": content_range})) == ["a"]
