"""`quartermaster serve http` as it is run: a process that prints its address, answers, and ends when it is told to."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.quartermaster.serving.conftest import TOKEN
from tests.support.command_line import called
from tests.support.places import ROOT

PATIENCE_S = 150.0  # for a machine with much to do
_MAIN = "from quartermaster.cli.main import main; main()"


def ask(url: str, body: Any = None, token: str = TOKEN) -> Any:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=PATIENCE_S) as response:
        return json.load(response)


def test_the_command_serves_until_it_is_told_to_end(snapshot: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "QUARTERMASTER_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-c", _MAIN, "serve", "http", "--snapshot", str(snapshot), "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path
    ) as process:
        try:
            assert process.stdout and process.stderr
            said = process.stdout.readline()
            found = re.fullmatch(r"8 tools of \S+ at (http://127\.0\.0\.1:\d+)\n", said)
            assert found, said + process.stderr.read()
            address = found[1]
            answer = ask(f"{address}/v1/route", {"request": "undo a payment", "k": 1})
            assert answer["snapshot"] == snapshot.name
            try:
                ask(f"{address}/v1/route", {"request": "undo a payment"}, "a-wrong-token-0000")
            except urllib.error.HTTPError as refused:
                with refused:
                    assert refused.code == 401
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0
            log = process.stderr.read()
        finally:
            process.kill()
    assert re.search(r"router\.access: 127\.0\.0\.1 POST /v1/route 200 \d+ B \d+\.\d ms", log)
    assert "undo" not in log and TOKEN not in log and "Traceback" not in log


def test_settings_that_cannot_be_are_refused_before_anything_is_opened(tmp_path: Path) -> None:
    done = called(tmp_path, "serve", "http", "--host", "0.0.0.0")
    assert done.returncode == 2
    assert "QUARTERMASTER_TOKEN" in done.stderr
    done = called(tmp_path, "serve", "http", "--port", "0")
    assert done.returncode == 4
    assert "has no snapshot" in done.stderr


def test_an_empty_token_is_a_secret_that_was_not_filled_in_and_no_leave_to_serve_without(
    snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving = ("serve", "http", "--snapshot", snapshot, "--host", "0.0.0.0")  # refused in any case
    refused = "quartermaster: token has 0 characters"
    assert called(tmp_path, *serving, "--token", "").stderr.startswith(refused)
    monkeypatch.setenv("QUARTERMASTER_TOKEN", "")
    for command in (serving, ("serve", "mcp", "--http", *serving[2:])):
        done = called(tmp_path, *command)
        assert done.returncode == 2
        assert done.stderr.startswith(refused), done.stderr
