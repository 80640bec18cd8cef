"""Documents behind a URL, of a real server on loopback."""

import gzip
import json
import socket
import traceback
from functools import partial

import pytest

from pipeline.errors import Unavailable
from tests.pipeline.sources.reading import api, read_one, stop_one
from tests.pipeline.sources.web import Web

API = json.dumps(api({"/a": {"get": {"operationId": "found"}}}))
YAML = "openapi: 3.0.3\npaths:\n  /a:\n    get: {operationId: found}\n"
LOGIN = "<!DOCTYPE html>\n<html><body>\n<form>User: <input name=u></form>\n</body></html>\n"
LINES = '{"name": "found"}\n{"name": "found"}'
GZIP = {"content-encoding": "gzip"}

_read, _stop = partial(read_one, format="openapi"), partial(stop_one, format="openapi")


@pytest.mark.parametrize(
    ("kind", "body", "path", "content_type"),
    [
        ("openapi", API, "/api", "application/vnd.oai.openapi+json; charset=utf-8"),
        ("openapi", YAML, "/api", "application/yaml"),
        ("openapi", YAML, "/api.json", "text/x-yaml"),
        ("openapi", API, "/api", "text/plain"),
        ("openapi", YAML, "/api", None),
        ("function", LINES, "/tools", "application/x-ndjson"),
        ("function", LINES, "/tools.jsonl", "text/plain"),
        ("jsonl", LINES, "/tools", "application/json"),
        # A server that calls everything HTML.
        ("openapi", API, "/api", "text/html"),
        ("openapi", f"# The tools\n---\n{YAML}", "/api", "text/html"),
    ],
)
def test_the_body_is_read_as_type_or_path_or_content_say(
    web: Web, kind: str, body: str, path: str, content_type: str | None
) -> None:
    url = web.page(body, path=path, headers={"content-type": content_type} if content_type else None)
    assert {tool.name for tool in _read(url=url, format=kind).tools} == {"found"}


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (gzip.compress(API.encode()), GZIP),
        (gzip.compress(API.encode()) + bytes(20), GZIP),
        (API.encode("utf-16"), {"content-type": "text/html"}),
    ],
    ids=["compressed", "padded", "utf-16"],
)
def test_a_body_in_another_encoding_is_read(web: Web, body: bytes, headers: dict[str, str]) -> None:
    assert [tool.name for tool in _read(url=web.page(body, headers=headers)).tools] == ["found"]


@pytest.mark.parametrize(("label", "provider"), [("ours", "ours"), (None, "tools")])
def test_the_catalogs_label_wins_over_the_name_in_the_url(web: Web, label: str | None, provider: str) -> None:
    url = web.page('{"name": "a"}', path="/v1/tools.json")
    assert [tool.provider for tool in _read(url=url, format="function", provider=label).tools] == [provider]


@pytest.mark.parametrize(
    ("status", "passes", "answer"),
    [
        (304, False, "304 Not Modified"),
        (404, False, "404 Not Found"),
        (429, True, "429 Too Many Requests"),
        (500, True, "500 Internal Server Error"),
        (503, True, "503 Service Unavailable"),
    ],
)
def test_an_answer_without_document_stops_the_run(web: Web, status: int, passes: bool, answer: str) -> None:
    url = web.page("", status=status)
    stopped = _stop(url=url)
    assert str(stopped) == f"the url '{url}' answered {answer}"
    assert isinstance(stopped, Unavailable) is passes


def test_a_refused_connection_is_unavailable() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/api"
    stopped = _stop(url=url)
    assert str(stopped) == f"the url '{url}' could not be reached"
    assert isinstance(stopped, Unavailable)


@pytest.mark.parametrize("cut", [1, 8, 40])
def test_a_body_that_breaks_off_is_unavailable_not_a_shorter_catalog(web: Web, cut: int) -> None:
    lines = (LINES + "\n") * 40
    stopped = _stop(url=(url := web.page(lines, headers={"content-length": str(len(lines) + cut)})), format="jsonl")
    assert str(stopped).startswith(f"the url '{url}' broke off: ") and isinstance(stopped, Unavailable)
    url = web.page(gzip.compress(lines.encode())[:-cut], headers=GZIP)
    stopped = _stop(url=url, format="jsonl")
    assert str(stopped) == f"the url '{url}' broke off: its gzip body has no end" and isinstance(stopped, Unavailable)


@pytest.mark.parametrize("packed", [False, True])
def test_a_body_that_is_too_large_stops_the_run(web: Web, packed: bool) -> None:
    body = b" " * 1_000_001
    url = web.page(gzip.compress(body, 1) if packed else body, headers=GZIP if packed else None)
    stopped = _stop(url=url, limits={"document_bytes": 1_000_000})
    assert str(stopped) == f"the url '{url}' gave more than the 1,000,000 bytes of limits.document_bytes"
    assert not isinstance(stopped, Unavailable)


@pytest.mark.parametrize(
    ("kind", "body", "content_type"),
    [
        ("openapi", LOGIN, "text/html; charset=utf-8"),
        ("function", LOGIN, "application/json"),
        ("jsonl", LOGIN, None),
        ("openapi", "\ufeff\n " + LOGIN.lower(), "application/yaml"),
        ("function", '<?xml version="1.0"?><html/>', "application/xhtml+xml"),
        ("jsonl", "Please sign in.\nYour session has ended.\n", "text/html"),
    ],
)
def test_a_web_page_is_a_failure_of_the_source_not_rejected_records(
    web: Web, kind: str, body: str, content_type: str | None
) -> None:
    url = web.page(body, headers={"content-type": content_type} if content_type else None)
    stopped = _stop(url=url, format=kind)
    assert str(stopped).startswith(f"the url '{url}' gave a web page (HTML), not a document in the format {kind}: ")


def test_a_document_of_another_kind_or_none_or_encoding_stops_the_run_by_its_url(web: Web) -> None:
    url = web.page('{"error": "no"}')
    assert str(_stop(url=url)).startswith(f"the source '{url}' is not an OpenAPI 3 or Swagger 2.0 document")
    assert str(_stop(url=web.page("", path="/empty"))).endswith("gave nothing: its openapi document is empty")
    url = web.page(gzip.compress(b"a") * 2, headers=GZIP)
    assert str(_stop(url=url)) == f"the url '{url}' could not be read: more follows its gzip body"
    url = web.page("plain", headers={"content-encoding": "br"})
    assert str(_stop(url=url)) == f"the url '{url}' answered in the encoding 'br', which it was not asked for"
    url = web.page("plain", headers=GZIP)
    assert str(_stop(url=url)) == f"the url '{url}' could not be read: its body is no gzip"


def test_neither_message_nor_origin_nor_traceback_tells_what_may_be_a_secret(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "sk-secret")
    headers = {"Authorization": "Bearer ${KEY}", "X-Key": "sk-secret"}
    page = web.page(API, path="/secrets")
    secret = page.replace("http://", "http://ada:sk-secret@") + "?key=sk-secret&also=${KEY}#sk-secret"
    assert [tool.origin.file for tool in _read(url=secret).tools] == [page]
    web.page("", path="/secrets", status=404)
    unreachable = "http://ada:sk-secret@127.0.0.1:1/?key=sk-secret"
    for stopped in (_stop(url=secret, headers=headers), _stop(url=unreachable), _stop(url=secret, format="jsonl")):
        told = "".join(line for line in traceback.format_exception(stopped) if "tests/" not in line)
        assert "sk-secret" not in told
