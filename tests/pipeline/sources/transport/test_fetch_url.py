"""Documents behind a URL, of a real server on loopback."""

import gzip
import json
import socket
import time
import traceback
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted, Unavailable
from pipeline.settings import CatalogSettings
from pipeline.sources import Reading, read
from router.record import Origin
from tests.pipeline.sources.reading import api
from tests.pipeline.sources.web import Web

API = json.dumps(api({"/a": {"get": {"operationId": "found"}}}))
YAML = "openapi: 3.0.3\npaths:\n  /a:\n    get: {operationId: found}\n"
LOGIN = "<!DOCTYPE html>\n<html><body>\n<form>User: <input name=u></form>\n</body></html>\n"
LINES = '{"name": "found"}\n{"name": "found"}'


def _read(url: str, **more: Any) -> Reading:
    source = {"url": url, "format": "openapi", "timeout_s": 30, **more}
    return read(CatalogSettings(name="office", folder=Path(), source=(source,)))


def _stop(url: str, **more: Any) -> RunAborted:
    with pytest.raises(RunAborted) as stopped:
        _read(url, **more)
    return stopped.value


@pytest.mark.parametrize(
    ("kind", "body", "path", "content_type"),
    [
        ("openapi", API, "/api", "application/json"),
        ("openapi", API, "/api", "application/vnd.oai.openapi+json; charset=utf-8"),
        ("openapi", YAML, "/api", "application/yaml"),
        ("openapi", YAML, "/api.json", "text/x-yaml"),
        ("openapi", YAML, "/api.yml", "text/plain"),
        ("openapi", API, "/api.json", "application/octet-stream"),
        ("openapi", API, "/api", "text/plain"),
        ("openapi", YAML, "/api", None),
        ("function", LINES, "/tools", "application/x-ndjson"),
        ("function", LINES, "/tools.jsonl", "text/plain"),
        ("jsonl", LINES, "/tools", "application/json"),
    ],
)
def test_the_body_is_read_as_type_or_path_or_content_say(
    web: Web, kind: str, body: str, path: str, content_type: str | None
) -> None:
    url = web.page(body, path=path, headers={"content-type": content_type} if content_type else None)
    assert {tool.name for tool in _read(url, format=kind).tools} == {"found"}


def test_a_compressed_body_is_read(web: Web) -> None:
    url = web.page(gzip.compress(API.encode()), headers={"content-encoding": "gzip"})
    assert [tool.name for tool in _read(url).tools] == ["found"]


def test_a_redirect_is_followed_and_the_origin_is_the_catalogs_url(web: Web) -> None:
    url = web.page("", status=302, headers={"location": web.page(API)})
    assert [tool.origin for tool in _read(url).tools] == [Origin(url, "/paths/~1a/get")]


@pytest.mark.parametrize(("label", "provider"), [("ours", "ours"), (None, "tools")])
def test_the_catalogs_label_wins_over_the_name_in_the_url(web: Web, label: str | None, provider: str) -> None:
    (tool,) = _read(web.page('{"name": "a"}', path="/v1/tools.json"), format="function", provider=label).tools
    assert tool.provider == provider


@pytest.mark.parametrize(
    ("status", "passes", "answer"),
    [
        (304, False, "304 Not Modified"),
        (404, False, "404 Not Found"),
        (401, False, "401 Unauthorized"),
        (429, True, "429 Too Many Requests"),
        (500, True, "500 Internal Server Error"),
        (503, True, "503 Service Unavailable"),
    ],
)
def test_an_answer_without_document_stops_the_run(web: Web, status: int, passes: bool, answer: str) -> None:
    url = web.page("", status=status)
    stopped = _stop(url)
    assert str(stopped) == f"the url '{url}' answered {answer}"
    assert isinstance(stopped, Unavailable) is passes


def test_a_refused_connection_is_unavailable() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/api"
    stopped = _stop(url)
    assert str(stopped) == f"the url '{url}' could not be reached"
    assert isinstance(stopped, Unavailable)


@pytest.mark.parametrize("pause", [0.1, 3.0])
def test_a_server_that_is_too_slow_or_drips_is_unavailable_in_time(web: Web, pause: float) -> None:
    url = web.page(API[:40], pause=pause)
    started = time.monotonic()
    stopped = _stop(url, timeout_s=0.5)
    assert str(stopped) == f"the url '{url}' took more than the 0.5 s that timeout_s allows"
    assert isinstance(stopped, Unavailable)
    assert time.monotonic() - started < 2.5


def test_a_body_that_breaks_off_is_unavailable_not_a_shorter_catalog(web: Web) -> None:
    url = web.page(LINES, headers={"content-length": "1000"})
    stopped = _stop(url, format="jsonl")
    assert str(stopped).startswith(f"the url '{url}' broke off: ")
    assert isinstance(stopped, Unavailable)


@pytest.mark.parametrize("packed", [False, True])
def test_a_body_that_is_too_large_stops_the_run(web: Web, packed: bool) -> None:
    body = b" " * 64_000_001
    url = web.page(gzip.compress(body, 1) if packed else body, headers={"content-encoding": "gzip"} if packed else None)
    stopped = _stop(url)
    assert str(stopped) == f"the url '{url}' gave more than the 64,000,000 bytes of limits.document_bytes"
    assert not isinstance(stopped, Unavailable)


@pytest.mark.parametrize("kind", ["openapi", "function", "jsonl"])
@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (LOGIN, "text/html; charset=utf-8"),
        (LOGIN, "application/json"),
        (LOGIN, None),
        ("\ufeff\n " + LOGIN.lower(), "application/yaml"),
        ('<?xml version="1.0"?><html/>', "application/xhtml+xml"),
        ("Please sign in.\nYour session has ended.\n", "text/html"),
    ],
)
def test_a_web_page_is_a_failure_of_the_source_not_rejected_records(
    web: Web, kind: str, body: str, content_type: str | None
) -> None:
    url = web.page(body, headers={"content-type": content_type} if content_type else None)
    stopped = _stop(url, format=kind)
    assert str(stopped).startswith(f"the url '{url}' gave a web page (HTML), not a document in the format {kind}: ")


@pytest.mark.parametrize("body", [API, f"\ufeff{API}", API.encode("utf-16"), YAML, f"# The tools\n---\n{YAML}"])
def test_a_document_of_a_server_that_calls_everything_html_is_read(web: Web, body: str | bytes) -> None:
    assert [tool.name for tool in _read(web.page(body, headers={"content-type": "text/html"})).tools] == ["found"]


def test_a_document_of_another_kind_or_none_stops_the_run_by_its_url(web: Web) -> None:
    url = web.page('{"error": "no"}')
    assert str(_stop(url)).startswith(f"the source '{url}' is not an OpenAPI 3 or Swagger 2.0 document")
    assert str(_stop(web.page("", path="/empty"))).endswith("gave nothing: its openapi document is empty")


@pytest.mark.parametrize("cut", [1, 8, 40])
def test_a_gzip_body_without_its_end_is_unavailable_not_a_shorter_catalog(web: Web, cut: int) -> None:
    body = gzip.compress((LINES + "\n").encode() * 40)
    url = web.page(body[:-cut], headers={"content-encoding": "gzip"})
    stopped = _stop(url, format="jsonl")
    assert str(stopped) == f"the url '{url}' broke off: its gzip body has no end"
    assert isinstance(stopped, Unavailable)


def test_a_body_that_is_not_what_its_encoding_says_stops_the_run(web: Web) -> None:
    url = web.page("plain", headers={"content-encoding": "gzip"})
    assert str(_stop(url)) == f"the url '{url}' could not be read: DecodeError"


def test_a_redirect_to_no_web_address_or_without_end_stops_the_run(web: Web) -> None:
    assert "could not be read: InvalidSchema" in str(_stop(web.page("", status=302, headers={"location": "file:///a"})))
    endless = web.page("", path="/endless", status=302, headers={"location": "/endless"})
    assert "redirects more than the 10 times that limits.redirects allows" in str(_stop(endless))


def test_neither_message_nor_origin_nor_traceback_tells_what_may_be_a_secret(web: Web) -> None:
    page = web.page(API, path="/secrets")
    secret = page.replace("http://", "http://ada:sk-secret@") + "?key=sk-secret#sk-secret"
    assert [tool.origin.file for tool in _read(secret).tools] == [page]
    web.page("", path="/secrets", status=404)
    unreachable = "http://ada:sk-secret@127.0.0.1:1/?key=sk-secret"
    for stopped in (_stop(secret), _stop(unreachable), _stop(secret, format="jsonl")):
        told = "".join(line for line in traceback.format_exception(stopped) if "test_fetch_url" not in line)
        assert "sk-secret" not in told
