"""Documents that a command prints, by real programs."""

import json
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted, Unavailable
from pipeline.sources import Reading
from router.record import Origin
from tests.pipeline.sources.reading import api, read_one, stop_one

API = api({"/a": {"get": {"operationId": "from_openapi"}}, "/b": {"get": 1}})
YAML = "openapi: 3.0.3\ninfo: {title: Office}\npaths:\n  /a:\n    get: {operationId: from_openapi}\n"
PYTHON = Path(sys.executable).name


def _read(folder: Path, *arguments: str, program: str = PYTHON, **more: Any) -> Reading:
    return read_one(folder, command=(program, *arguments), **{"format": "openapi", **more})


def _stop(folder: Path, *arguments: str, program: str = PYTHON, **more: Any) -> RunAborted:
    return stop_one(folder, command=(program, *arguments), **{"format": "openapi", **more})


@pytest.mark.parametrize(
    ("kind", "text", "label", "provider"),
    [
        ("openapi", json.dumps(API), "ours", "ours"),
        ("openapi", YAML, None, "office"),
        ("openapi", "\ufeff" + json.dumps(API), None, "office"),
        ("function", '[{"name": "from_openapi"}]', None, Path(PYTHON).stem),
        ("jsonl", '{"name": "from_openapi"}\n', None, None),
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
    assert (tool.name, tool.provider, tool.origin.file) == ("from_openapi", provider, PYTHON)
    assert all(rejected.origin == Origin(PYTHON, "/paths/~1b/get") for rejected in reading.rejected)
    assert len(reading.rejected) == (text.count("/b") > 0)


def test_a_relative_program_is_one_of_the_catalogs_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "office" / "make.sh"
    program.parent.mkdir()
    program.write_text("""#!/bin/sh\necho '{"name": "a"}'\n""", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    (tool,) = _read(Path("office"), program="./make.sh", format="function").tools
    assert tool.origin == Origin("./make.sh", "/0")


def test_programs_of_this_environment_are_found_though_it_is_not_activated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    code = "import sys, json; print(json.dumps({'name': sys.executable}))"
    nested = f"import subprocess; subprocess.run([{PYTHON!r}, '-c', {code!r}])"
    assert _read(tmp_path, "-c", nested, format="function").tools[0].name == sys.executable


@pytest.mark.parametrize("program", ["no-such-program", "./no-such-program", "not-executable"])
def test_a_program_that_is_not_installed_stops_the_run(tmp_path: Path, program: str) -> None:
    (tmp_path / "not-executable").write_text("", encoding="utf-8")
    stopped = _stop(tmp_path, program=program)
    assert str(stopped).startswith(f"the command {program!r} is not installed: ")
    assert not isinstance(stopped, Unavailable)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (
            "import sys; sys.stderr.write('x' * 100_000 + '\\nfirst\\n\\x1b[31mno\\x07 key\\x1b[0m\\n'); sys.exit(3)",
            "ended with exit code 3: no  key",
        ),
        ("raise SystemExit('y' * 5000)", f"ended with exit code 1: {'y' * 300}…"),
        ("raise SystemExit(1)", "ended with exit code 1: it said nothing"),
        ("import os; os.kill(os.getpid(), 9)", "ended with signal 9: it said nothing"),
        ("print()", "gave nothing: its openapi document is empty"),
        ("while True: print('x' * 1_000_000)", "gave more than the 90,000 bytes of limits.document_bytes"),
    ],
    ids=["last-line", "long-line", "silent", "signal", "nothing", "too-much"],
)
def test_a_command_without_document_stops_the_run_and_says_why(tmp_path: Path, code: str, told: str) -> None:
    stopped = _stop(tmp_path, "-c", code, limits={"document_bytes": 90_000})
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


def test_no_message_tells_an_argument(tmp_path: Path) -> None:
    code = "import sys; sys.exit(f'bad {sys.argv[1]} and {sys.argv[2][6:]}')"
    message = str(_stop(tmp_path, "-c", code, "sk-secret", "--key=sk-other"))
    assert message.endswith("exit code 1: bad … and …")
