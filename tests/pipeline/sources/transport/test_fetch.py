"""Documents that a command prints, by real programs."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted, Unavailable
from pipeline.settings import CatalogSettings, LimitsSettings, SourceSettings
from pipeline.sources import Reading, read
from pipeline.sources.transport import fetch
from router.record import Origin
from tests.pipeline.sources.reading import api

API = api({"/a": {"get": {"operationId": "from_openapi"}}, "/b": {"get": 1}})
YAML = "openapi: 3.0.3\ninfo: {title: Office}\npaths:\n  /a:\n    get: {operationId: from_openapi}\n"
PYTHON = Path(sys.executable).name


def _read(folder: Path, *arguments: str, program: str = PYTHON, **more: Any) -> Reading:
    source = {"command": (program, *arguments), "format": "openapi", "timeout_s": 30, **more}
    return read(CatalogSettings(name="office", folder=folder, source=(source,)))


def _stop(folder: Path, *arguments: str, **more: Any) -> RunAborted:
    with pytest.raises(RunAborted) as stopped:
        _read(folder, *arguments, **more)
    return stopped.value


def _printing(text: str) -> tuple[str, str]:
    return "-c", f"print({text!r})"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("openapi", json.dumps(API)),
        ("openapi", YAML),
        ("openapi", "\ufeff" + json.dumps(API)),
        ("function", '[{"name": "from_openapi"}]'),
        ("jsonl", '{"name": "from_openapi"}\n{"name": "from_openapi"}'),
    ],
)
def test_what_a_command_prints_is_a_document_of_the_format(tmp_path: Path, kind: str, text: str) -> None:
    (tmp_path / "document").write_text(text, encoding="utf-8")
    code = "import sys; sys.stdout.buffer.write(open('document', 'rb').read())"
    assert {tool.name for tool in _read(tmp_path, "-c", code, format=kind).tools} == {"from_openapi"}


def test_tools_and_rejections_have_the_program_and_the_pointer_for_origin(tmp_path: Path) -> None:
    reading = _read(tmp_path, *_printing(json.dumps(API)))
    assert [tool.origin for tool in reading.tools] == [Origin(PYTHON, "/paths/~1a/get")]
    (rejected,) = reading.rejected
    assert rejected.origin == Origin(PYTHON, "/paths/~1b/get")
    assert str(rejected).startswith(f"{PYTHON} /paths/~1b/get: ")


@pytest.mark.parametrize(
    ("kind", "text", "label", "provider"),
    [
        ("openapi", YAML, "ours", "ours"),
        ("openapi", YAML, None, "office"),
        ("function", '{"name": "a"}', None, Path(PYTHON).stem),
        ("jsonl", '{"name": "a"}', None, None),
    ],
)
def test_the_catalogs_label_wins_then_the_vendors_then_the_program(
    tmp_path: Path, kind: str, text: str, label: str | None, provider: str | None
) -> None:
    (tool,) = _read(tmp_path, *_printing(text), format=kind, provider=label).tools
    assert tool.provider == provider


def test_a_command_runs_in_the_catalogs_folder(tmp_path: Path) -> None:
    (tmp_path / "make.py").write_text("import os, json; print(json.dumps({'name': os.getcwd()}))", encoding="utf-8")
    (tool,) = _read(tmp_path, "make.py", format="function").tools
    assert tool.name == os.path.realpath(tmp_path)


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
    (tool,) = _read(tmp_path, "-c", code, format="function").tools
    assert tool.name == sys.executable
    nested = f"import subprocess; subprocess.run([{PYTHON!r}, '-c', {code!r}])"
    assert _read(tmp_path, "-c", nested, format="function").tools[0].name == sys.executable


@pytest.mark.parametrize("program", ["no-such-program", "./no-such-program", "not-executable"])
def test_a_program_that_is_not_installed_stops_the_run(tmp_path: Path, program: str) -> None:
    (tmp_path / "not-executable").write_text("", encoding="utf-8")
    stopped = _stop(tmp_path, program=program)
    assert str(stopped).startswith(f"the command {program!r} is not installed: ")
    assert not isinstance(stopped, Unavailable)


def test_a_program_that_cannot_be_started_stops_the_run(tmp_path: Path) -> None:
    (tmp_path / "empty").touch(mode=0o755)
    message = str(_stop(tmp_path, program="./empty"))
    assert message == "the command './empty' could not be started: Exec format error"
    assert "an argument holds a NUL" in str(_stop(tmp_path, "a\0b"))


def test_an_exit_code_is_told_with_the_last_line_of_the_errors(tmp_path: Path) -> None:
    code = "import sys; sys.stderr.write('x' * 100_000 + '\\nfirst\\n\\x1b[31mno\\x07 key\\x1b[0m\\n\\n'); sys.exit(3)"
    stopped = _stop(tmp_path, "-c", code)
    assert str(stopped) == f"the command '{PYTHON}' ended with exit code 3: no  key"
    assert not isinstance(stopped, Unavailable)
    assert len(str(_stop(tmp_path, "-c", "raise SystemExit('y' * 5000)"))) < 500


def test_a_silent_end_and_a_signal_are_told_too(tmp_path: Path) -> None:
    assert str(_stop(tmp_path, "-c", "raise SystemExit(1)")).endswith("ended with exit code 1: it said nothing")
    assert "ended with signal 9" in str(_stop(tmp_path, "-c", "import os; os.kill(os.getpid(), 9)"))


@pytest.mark.parametrize(
    "code", ["import time; time.sleep(600)", "import os, time; os.closerange(1, 3); time.sleep(600)"]
)
def test_a_command_that_does_not_end_is_unavailable(tmp_path: Path, code: str) -> None:
    started = time.monotonic()
    stopped = _stop(tmp_path, "-c", code, timeout_s=0.5)
    assert str(stopped) == f"the command '{PYTHON}' took more than the 0.5 s that timeout_s allows"
    assert isinstance(stopped, Unavailable)
    assert time.monotonic() - started < 10


def test_what_a_command_started_ends_with_it(tmp_path: Path) -> None:
    child = "import time; open('alive', 'w').close(); time.sleep(2); open('survived', 'w').close()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    _stop(tmp_path, "-c", code, timeout_s=1)
    time.sleep(2)
    assert (tmp_path / "alive").exists()
    assert not (tmp_path / "survived").exists()


def test_a_command_that_prints_too_much_stops_the_run(tmp_path: Path) -> None:
    stopped = _stop(tmp_path, "-c", "while True: print('x' * 1_000_000)")
    assert str(stopped) == f"the command '{PYTHON}' gave more than the 64,000,000 bytes of limits.document_bytes"


def test_a_command_that_prints_nothing_stops_the_run(tmp_path: Path) -> None:
    message = str(_stop(tmp_path, "-c", "print()"))
    assert message == f"the command '{PYTHON}' gave nothing: its openapi document is empty"


def test_words_before_the_document_are_an_error_that_names_the_program(tmp_path: Path) -> None:
    stopped = _stop(tmp_path, *_printing("Warning: old\n" + json.dumps(API)))
    assert str(stopped).startswith(f"the source '{PYTHON}' is not readable ")
    assert not isinstance(stopped, Unavailable)


def test_no_message_tells_an_argument(tmp_path: Path) -> None:
    code = "import sys; sys.exit(f'bad {sys.argv[1]} and {sys.argv[2][6:]}')"
    message = str(_stop(tmp_path, "-c", code, "sk-secret", "--key=sk-other"))
    assert message.endswith("exit code 1: bad … and …")


def test_no_temporary_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = SourceSettings(command=(PYTHON, *_printing(YAML)), format="openapi")
    with fetch.document(source, tmp_path, LimitsSettings()) as path:
        assert path.parent.parent == tmp_path and path.read_text(encoding="utf-8").startswith("openapi")
    assert list(tmp_path.iterdir()) == []
