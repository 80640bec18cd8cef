"""Where a redirect of a document may lead, and what is sent there: headers go to no server but the configured one."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from pipeline.errors import Unavailable
from pipeline.sources.transport import http
from router.record import Origin
from tests.pipeline.sources.reading import api, read_one, stop_one
from tests.pipeline.sources.web import Web, serving

API = json.dumps(api({"/a": {"get": {"operationId": "found"}}}))
HEADERS = {"Authorization": "Bearer of-the-header", "X-Key": "key"}


class Internet:
    """Servers of any name, in memory: the redirects of some addresses, and a document at all others."""

    def __init__(self) -> None:
        self.redirects: dict[str, str] = {}
        self.asked: dict[str, tuple[dict[str, str], bool]] = {}  # by address: the headers, and whether a user is sent

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        sent = {name: request.headers[name] for name in HEADERS if name in request.headers}
        user = sent.get("Authorization", "").startswith("Basic ")
        if user:
            del sent["Authorization"]
        url = str(request.url)
        self.asked[url] = sent, user
        where = {"location": self.redirects[url]} if url in self.redirects else {}
        headers = {"content-type": "application/json", **where}
        return httpx2.Response(302 if where else 200, headers=headers, stream=httpx2.ByteStream(API.encode()))


@pytest.fixture
def internet(monkeypatch: pytest.MonkeyPatch) -> Internet:
    made = Internet()

    async def send(_: http.Transport, request: httpx2.Request) -> httpx2.Response:
        return made.answer(request)

    monkeypatch.setattr(http.Transport, "handle_async_request", send)
    return made


def _read(url: str, **more: Any) -> list[str]:
    return [tool.name for tool in read_one(url=url, format="openapi", **more).tools]


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("https://a.example/x", "/y"),
        ("https://a.example/x", "https://A.example:443/y"),
        ("http://a.example/x", "https://a.example/y"),
    ],
)
def test_the_servers_own_redirects_keep_headers_and_user(internet: Internet, url: str, location: str) -> None:
    with_user = url.replace("//", "//ada:word@")
    internet.redirects = {url: location, with_user: location}
    assert _read(url, headers=HEADERS) == ["found"]
    assert list(internet.asked.values()) == [(HEADERS, False)] * 2
    internet.asked.clear()
    assert _read(with_user) == ["found"]
    assert list(internet.asked.values()) == [({}, True)] * 2


@pytest.mark.parametrize(
    ("url", "location", "host"),
    [
        ("https://a.example/x", "https://b.example/y", "b.example"),
        ("https://a.example/x", "https://sub.a.example/y", "sub.a.example"),
        ("https://a.example/x", "https://a.example.b.test/y", "a.example.b.test"),
        ("https://a.example/x", "https://a.example@b.example/y", "b.example"),
        ("https://a.example/x", "https://a.example:8443/y", "a.example"),
        ("https://a.example/x", "http://a.example/y", "a.example"),
        ("http://a.example:8080/x", "https://a.example/y", "a.example"),
    ],
)
def test_a_redirect_to_any_other_server_is_refused_and_where_it_is_named_takes_no_header_and_no_user(
    internet: Internet, url: str, location: str, host: str
) -> None:
    back = "https://a.example/back"
    for start in (url, url.replace("//", "//ada:word@")):
        internet.redirects[start] = location
        refused = stop_one(url=start, format="openapi", headers={"X-Key": "key"})
        assert f"redirects to another server, '{host}'" in str(refused)
        assert f'write redirect_hosts = ["{host}"] under its [[source]]' in str(refused)
        assert internet.asked.keys() == {start} and not isinstance(refused, Unavailable)

        assert _read(start, headers=HEADERS, redirect_hosts=[host]) == ["found"]
        (to,) = internet.asked.keys() - {start}
        assert internet.asked[to] == ({}, False)
        internet.redirects[to] = back  # and never again, wherever it leads from there
        assert _read(start, headers={"X-Key": "key"}, redirect_hosts=[host, "a.example"]) == ["found"]
        assert internet.asked[to] == internet.asked[back] == ({}, False)
        internet.redirects.clear()
        internet.asked.clear()


@pytest.fixture
def elsewhere() -> Iterator[Web]:
    """Another server, on another port."""
    with serving() as web:
        yield web


def test_an_mcp_server_that_redirects_elsewhere_is_not_followed(web: Web, elsewhere: Web) -> None:
    stop_one(url=web.page("", status=307, headers={"location": elsewhere.page("")}), headers=HEADERS)
    assert web.asked[-1][1]["x-key"] == "key" and elsewhere.asked == []


def test_the_origin_is_the_catalogs_url_and_the_body_of_a_redirect_is_not_read_to_its_end(web: Web) -> None:
    endless = web.page(b"x" * 30, path="/slow", status=302, pause=1.0, headers={"location": web.page(API)})
    reading = read_one(url=endless, format="openapi", timeout_s=10)
    assert [tool.origin for tool in reading.tools] == [Origin(endless, "/paths/~1a/get")]


def test_a_redirect_to_no_web_address_or_without_end_stops_the_run(web: Web) -> None:
    to_a_file = web.page("", status=302, headers={"location": "file:///a"})
    assert "redirects to an address that is not http or https" in str(stop_one(url=to_a_file, format="openapi"))
    endless = web.page("", path="/endless", status=302, headers={"location": "/endless"})
    for most in (0, 3):
        asked = len(web.asked)
        told = str(stop_one(url=endless, format="openapi", limits={"redirects": most}))
        assert f"redirects more than the {most} times that limits.redirects allows" in told
        assert len(web.asked) == asked + most + 1
