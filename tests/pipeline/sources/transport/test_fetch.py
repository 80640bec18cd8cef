"""Documents that a command prints, by real programs, and those behind a URL, of a real server on loopback."""

import gzip
import json
import socket
import sys
import time
import traceback
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted, Unavailable
from pipeline.sources import Reading
from router.record import Origin
from tests.pipeline.sources.reading import api, read_one, stop_one
from tests.pipeline.sources.web import Web
from tests.support.ports import kept_port

API = json.dumps(api({"/a": {"get": {"operationId": "found"}}, "/b": {"get": 1}}))
YAML = "openapi: 3.0.3\ninfo: {title: Office}\npaths:\n  /a:\n    get: {operationId: found}\n"
LOGIN = "<!DOCTYPE html>\n<html><body>\n<form>User: <input name=u></form>\n</body></html>\n"
LINES = '{"name": "found"}\n{"name": "found"}'
GZIP = {"content-encoding": "gzip"}
PYTHON = Path(sys.executable).name

_read_url, _stop_url = partial(read_one, format="openapi"), partial(stop_one, format="openapi")


def _read(folder: Path, *arguments: str, program: str = PYTHON, **more: Any) -> Reading:
    return read_one(folder, command=(program, *arguments), **{"format": "openapi", **more})


def _stop(folder: Path, *arguments: str, program: str = PYTHON, **more: Any) -> RunAborted:
    return stop_one(folder, command=(program, *arguments), **{"format": "openapi", **more})


@pytest.mark.parametrize(
    ("kind", "text", "label", "provider"),
    [
        ("openapi", API, "ours", "ours"),
        ("openapi", YAML, None, "office"),
        ("openapi", "\ufeff" + API, None, "office"),
        ("function", '[{"name": "found"}]', None, Path(PYTHON).stem),
        ("jsonl", '{"name": "found"}\n', None, None),
    ],
    ids=["json", "yaml", "byte-order-mark", "function", "jsonl"],
)
def test_what_a_command_prints_is_a_document_and_the_catalogs_label_wins_then_the_vendors_then_the_program(
    tmp_path: Path, kind: str, text: str, label: str | None, provider: str | None
) -> None:
    (tmp_path / "document").write_text(text, encoding="utf-8")  # a command runs in the catalog's folder
    code = "import sys; sys.stdout.buffer.write(open('document', 'rb').read())"
    reading = _read(tmp_path, "-c", code, format=kind, provider=label)
    (tool,) = reading.tools
    assert (tool.name, tool.provider, tool.origin.file) == ("found", provider, PYTHON)
    assert [rejected.origin for rejected in reading.rejected] == [Origin(PYTHON, "/paths/~1b/get")] * ("/b" in text)


def test_programs_of_the_catalogs_folder_and_of_this_environment_are_found_though_it_is_not_activated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "office" / "make.sh"
    program.parent.mkdir()
    program.write_text("""#!/bin/sh\necho '{"name": "a"}'\n""", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    (tool,) = _read(Path("office"), program="./make.sh", format="function").tools
    assert tool.origin == Origin("./make.sh", "/0")
    monkeypatch.setenv("PATH", "/nowhere")
    code = "import sys, json; print(json.dumps({'name': sys.executable}))"
    nested = f"import subprocess; subprocess.run([{PYTHON!r}, '-c', {code!r}])"
    assert _read(tmp_path, "-c", nested, format="function").tools[0].name == sys.executable


@pytest.mark.parametrize("program", ["no-such-program", "./no-such-program", "not-executable"])
def test_a_program_that_is_not_installed_stops_the_run(tmp_path: Path, program: str) -> None:
    (tmp_path / "not-executable").write_text("", encoding="utf-8")
    stopped = _stop(tmp_path, program=program)
    assert str(stopped).startswith(f"the command {program!r} is not installed: ") and type(stopped) is RunAborted


_NOISE = "'x' * 100_000 + '\\nfirst\\n\\x1b[31mno\\x07 key\\x1b[0m\\n'"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (f"import sys; sys.stderr.write({_NOISE}); sys.exit(3)", "ended with exit code 3: no  key"),
        ("raise SystemExit('y' * 5000)", f"ended with exit code 1: {'y' * 300}…"),
        ("import sys; sys.exit(f'bad {sys.argv[1]} and {sys.argv[2][6:]}')", "ended with exit code 1: bad … and …"),
        ("raise SystemExit(1)", "ended with exit code 1: it said nothing"),
        ("import os; os.kill(os.getpid(), 9)", "ended with signal 9: it said nothing"),
        ("print()", "gave nothing: its openapi document is empty"),
        ("while True: print('x' * 1_000_000)", "gave more than the 90,000 bytes of limits.document_bytes"),
    ],
    ids=["last-line", "long-line", "arguments", "silent", "signal", "nothing", "too-much"],
)
def test_a_command_without_document_stops_the_run_and_says_why(tmp_path: Path, code: str, told: str) -> None:
    stopped = _stop(tmp_path, "-c", code, "sk-secret", "--key=sk-other", limits={"document_bytes": 90_000})
    assert str(stopped) == f"the command '{PYTHON}' {told}" and not isinstance(stopped, Unavailable)


@pytest.mark.parametrize("silent", ["", "os.closerange(1, 3); "])
def test_a_command_that_does_not_end_is_unavailable(tmp_path: Path, silent: str) -> None:
    started = time.monotonic()
    stopped = _stop(tmp_path, "-c", f"import os, time; {silent}time.sleep(600)", timeout_s=0.2)
    assert str(stopped) == f"the command '{PYTHON}' took more than the 0.2 s that timeout_s allows"
    assert isinstance(stopped, Unavailable)
    assert time.monotonic() - started < 60


def test_what_a_command_started_ends_with_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as heard:
        port = heard.getsockname()[1]
        kept = f"import socket, time; kept = socket.create_connection(('127.0.0.1', {port}))"
        child = f"{kept}; print('x' * 90_001, flush=True); time.sleep(600)"
        code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
        _stop(tmp_path, "-c", code, limits={"document_bytes": 90_000})
        connection, _ = heard.accept()
        with connection:
            connection.settimeout(60)
            assert connection.recv(1) == b""  # it has ended: its socket is closed


@pytest.mark.parametrize(
    ("kind", "body", "path", "headers"),
    [
        ("openapi", API, "/api", {"content-type": "application/vnd.oai.openapi+json; charset=utf-8"}),
        ("openapi", YAML, "/api", {"content-type": "application/yaml"}),
        ("openapi", YAML, "/api.json", {"content-type": "text/x-yaml"}),
        ("openapi", YAML, "/api", {}),
        ("function", LINES, "/tools", {"content-type": "application/x-ndjson"}),
        ("function", LINES, "/tools.jsonl", {"content-type": "text/plain"}),
        ("jsonl", LINES, "/tools", {"content-type": "application/json"}),
        # A server that calls everything HTML.
        ("openapi", API, "/api", {"content-type": "text/html"}),
        ("openapi", f"# The tools\n---\n{YAML}", "/api", {"content-type": "text/html"}),
        ("openapi", API.encode("utf-16"), "/api", {"content-type": "text/html"}),
        ("openapi", gzip.compress(API.encode()), "/api", GZIP),
        ("openapi", gzip.compress(API.encode()) + bytes(20), "/api", GZIP),  # padded
    ],
)
def test_the_body_is_read_as_type_or_path_or_content_say_in_its_encoding(
    web: Web, kind: str, body: str | bytes, path: str, headers: dict[str, str]
) -> None:
    reading = _read_url(url=web.page(body, path=path, headers=headers), format=kind)
    assert {tool.name for tool in reading.tools} == {"found"}


@pytest.mark.parametrize(
    ("status", "passes", "answer"),
    [
        (404, False, "404 Not Found"),
        (429, True, "429 Too Many Requests"),
        (503, True, "503 Service Unavailable"),
    ],
)
def test_an_answer_without_document_stops_the_run(web: Web, status: int, passes: bool, answer: str) -> None:
    stopped = _stop_url(url=(url := web.page("", status=status)))
    assert str(stopped) == f"the url '{url}' answered {answer}"
    assert isinstance(stopped, Unavailable) is passes


def test_a_refused_connection_is_unavailable() -> None:
    with kept_port() as port:
        stopped = _stop_url(url=(url := f"http://127.0.0.1:{port}/api"))
    assert str(stopped) == f"the url '{url}' could not be reached" and isinstance(stopped, Unavailable)


@pytest.mark.parametrize("cut", [1, 8, 40])
def test_a_body_that_breaks_off_is_unavailable_not_a_shorter_catalog(web: Web, cut: int) -> None:
    lines = (LINES + "\n") * 40
    url = web.page(lines, headers={"content-length": str(len(lines) + cut)})
    stopped = stop_one(url=url, format="jsonl")
    assert str(stopped).startswith(f"the url '{url}' broke off: ") and isinstance(stopped, Unavailable)
    url = web.page(gzip.compress(lines.encode())[:-cut], headers=GZIP)
    stopped = stop_one(url=url, format="jsonl")
    assert str(stopped) == f"the url '{url}' broke off: its gzip body has no end" and isinstance(stopped, Unavailable)


_LARGE = b" " * 1_000_001


@pytest.mark.parametrize(
    ("body", "headers", "told"),
    [
        ("", {}, "gave nothing: its openapi document is empty"),
        (_LARGE, {}, "gave more than the 1,000,000 bytes of limits.document_bytes"),
        (gzip.compress(_LARGE, 1), GZIP, "gave more than the 1,000,000 bytes of limits.document_bytes"),
        (gzip.compress(b"a") * 2, GZIP, "could not be read: more follows its gzip body"),
        ("plain", {"content-encoding": "br"}, "answered in the encoding 'br', which it was not asked for"),
        (b"\x28\xb5\x2f\xfd\0\0", {}, "could not be read: it is packed by zstd; unpack it first"),
        (
            "<?xml version='1.0'?><wsdl:types/>",
            {},
            "gave XML, such as a WSDL: export or convert it to OpenAPI, and build that",
        ),
    ],
    ids=["nothing", "too-large", "too-large-unpacked", "two-bodies", "another-encoding", "zstd", "xml"],
)
def test_a_body_that_cannot_be_read_stops_the_run(web: Web, body: Any, headers: dict[str, str], told: str) -> None:
    stopped = _stop_url(url=(url := web.page(body, headers=headers)), limits={"document_bytes": 1_000_000})
    assert str(stopped) == f"the url '{url}' {told}" and not isinstance(stopped, Unavailable)


@pytest.mark.parametrize(
    ("kind", "body", "content_type"),
    [
        ("openapi", LOGIN, "text/html; charset=utf-8"),
        ("function", LOGIN, "application/json"),
        ("openapi", "\ufeff\n " + LOGIN.lower(), "application/yaml"),
        ("function", '<?xml version="1.0"?><html/>', "application/xhtml+xml"),
        ("jsonl", "Please sign in.\nYour session has ended.\n", "text/html"),
    ],
)
def test_a_web_page_is_a_failure_of_the_source_not_rejected_records(
    web: Web, kind: str, body: str, content_type: str | None
) -> None:
    url = web.page(body, headers={"content-type": content_type} if content_type else None)
    told = str(stop_one(url=url, format=kind))
    assert told.startswith(f"the url '{url}' gave a web page (HTML), not a document in the format {kind}: ")


def test_a_document_of_another_kind_stops_the_run_by_its_url(web: Web) -> None:
    url = web.page('{"error": "no"}')
    assert str(_stop_url(url=url)).startswith(f"the source '{url}' is not an OpenAPI 3 or Swagger 2.0 document")


def test_neither_message_nor_origin_nor_traceback_tells_what_may_be_a_secret(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "sk-secret")
    headers = {"Authorization": "Bearer ${KEY}", "X-Key": "sk-secret"}
    page = web.page(API, path="/secrets")
    secret = page.replace("http://", "http://ada:sk-secret@") + "?key=sk-secret&also=${KEY}#sk-secret"
    assert [tool.origin.file for tool in _read_url(url=secret).tools] == [page]
    web.page("", path="/secrets", status=404)
    unreachable = "http://ada:sk-secret@127.0.0.1:1/?key=sk-secret"
    for stopped in (
        _stop_url(url=secret, headers=headers), _stop_url(url=unreachable), stop_one(url=secret, format="jsonl")
    ):  # fmt: skip
        told = "".join(line for line in traceback.format_exception(stopped) if "tests/" not in line)
        assert "sk-secret" not in told
