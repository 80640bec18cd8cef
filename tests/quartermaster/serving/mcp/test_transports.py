"""`quartermaster serve mcp` as a program over stdio and over HTTP, asked by a real client, with a server of its own."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from starlette.testclient import TestClient

from quartermaster.serving.http import HttpSettings
from quartermaster.serving.mcp import server
from quartermaster.serving.mcp.http import http_app
from router import Router
from router.contract import Signal
from tests.quartermaster.serving.mcp.conftest import PLAIN, running, text_of
from tests.support.command_line import called
from tests.support.places import ROOT
from tests.support.profiles import written
from tests.support.thin_snapshots import write_thin_snapshot

TOKEN = "a-token-of-twenty-letters"
MAIN = "import sys; from quartermaster.cli.main import main; main()"
PROFILES = '[profiles.dev]\nselection = { providers = ["plain"] }\n'
PIPE = subprocess.PIPE


@pytest.fixture
def servers(tmp_path: Path) -> Path:
    """The plain server in a file as MCP clients have it."""
    path = tmp_path / "servers.json"
    plain = {"command": sys.executable, "args": [str(PLAIN)], "env": {"SECRET": "${WEATHER_SECRET}"}}
    path.write_text(json.dumps({"mcpServers": {"plain": plain}}), encoding="utf-8")
    return path


@pytest.fixture
def command(weather_snapshot: Path, servers: Path) -> tuple[str, ...]:
    """The arguments of a program that serves tools of the plain server."""
    named = ("--snapshot", str(weather_snapshot), "--upstream", str(servers))
    return ("-c", MAIN, "serve", "mcp", *named, "--allow-commands", "--watch", "0")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    variables = {"WEATHER_SECRET": "s3", "QUARTERMASTER_TOKEN": TOKEN, "PYTHONPATH": str(ROOT)}
    for name, value in {**variables, "XDG_STATE_HOME": str(tmp_path / "state")}.items():
        monkeypatch.setenv(name, value)


def test_over_stdio_a_client_finds_and_calls_within_its_profile_and_no_process_is_left(
    snapshot: Path, servers: Path, tmp_path: Path
) -> None:
    office = write_thin_snapshot(snapshot, tmp_path / "office" / snapshot.name, Signal.NAME)
    path = written(tmp_path / "profiles.toml", PROFILES, 'audit = "audit.jsonl"')
    options = {"snapshot": office, "upstream": servers, "watch": 0, "profiles": path, "profile": "dev"}
    named = [str(part) for name, value in options.items() for part in (f"--{name}", value)]
    arguments = ["-c", MAIN, "serve", "mcp", "--connect", "--allow-commands", *named]
    environment = {"PYTHONPATH": str(ROOT), "WEATHER_SECRET": "s3", "XDG_STATE_HOME": str(tmp_path)}
    program = StdioServerParameters(command=sys.executable, args=arguments, env=environment)

    async def talk() -> tuple[str, dict[str, Any]]:
        async with Client(program) as client:
            found = ""
            with anyio.fail_after(60):
                while "plain/" not in found:  # its server has yet to list it
                    await anyio.sleep(0.05)
                    wishes = {"request": "do echo, create refund, create issue", "k": 20}
                    found = text_of(await client.call_tool("find_tools", wishes))
            # What its servers print, and what it logs, never reaches the wire.
            await client.call_tool("call_tool", {"tool_id": "plain/talk"})
            echoed = await client.call_tool("call_tool", {"tool_id": "plain/echo", "arguments": {"text": "hi"}})
            return found, json.loads(text_of(echoed))

    found, echoed = asyncio.run(talk())
    assert "plain/echo(text?: string)" in found
    assert "stripe/" not in found and "github/" not in found
    assert (echoed["arguments"], echoed["secret"]) == ({"text": "hi"}, "s3")
    assert not running(int(echoed["pid"]))
    rows = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {(row["token"], row["profile"]) for row in rows} == {(None, "dev")}


@pytest.mark.nightly
def test_a_stdio_server_whose_client_is_gone_ends_without_a_traceback(command: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as nobody:
        line = [sys.executable, *command]
        with subprocess.Popen(line, stdin=PIPE, stdout=nobody, stderr=PIPE, text=True) as program:
            try:
                assert program.stdin and program.stderr
                program.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n")
                program.stdin.flush()
                assert program.wait(60) == 0  # though the other pipe is open
                *allowed, last = program.stderr.read().splitlines()
                assert last == "the client left before it had read its answers"
                assert all(line.startswith("new: run ") for line in allowed)
            finally:
                program.kill()


@pytest.mark.nightly
def test_a_stdio_server_that_is_terminated_ends_its_own_servers(command: tuple[str, ...]) -> None:
    """As a client does that does not close the pipe first, and whatever is under way: no traceback."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    call = {"name": "call_tool", "arguments": {"tool_id": "plain/echo"}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ]
    line = [sys.executable, *command]
    with subprocess.Popen(line, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True) as program:
        assert program.stdin and program.stdout and program.stderr
        for message in messages:
            program.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            program.stdin.flush()
        answers = [json.loads(program.stdout.readline()) for _ in range(2)]
        pid = json.loads(answers[1]["result"]["content"][0]["text"])["pid"]
        assert running(pid)
        for number in range(3, 203):
            program.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}) + "\n")
        program.stdin.flush()
        program.stdout.readline()
        program.send_signal(signal.SIGTERM)
        assert program.wait(60) == 128 + signal.SIGTERM
        assert "Traceback" not in program.stderr.read()
    assert not running(pid)


ASKED = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {TOKEN}"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


def test_the_option_serves_over_http_for_the_token_of_the_environment(
    snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statuses: list[int] = []

    def serve(app: Any, *_: object) -> None:
        with TestClient(app, base_url="http://localhost") as client:
            for headers in (ASKED, {**ASKED, "Authorization": "Bearer another-token-of-letters"}):
                statuses.append(client.post("/mcp", json=LIST, headers=headers).status_code)

    monkeypatch.setattr("quartermaster.serving.http.serve", serve)
    monkeypatch.setattr("quartermaster.serving.http.configure_logs", lambda: None)  # loggers keep their levels
    office = write_thin_snapshot(snapshot, tmp_path / "office" / snapshot.name, Signal.NAME)
    done = called(tmp_path, "serve", "mcp", "--snapshot", office, "--http", "--port", "0")
    assert done.stdout.startswith(f"8 tools of {snapshot.name} at http://127.0.0.1:"), done.stderr
    assert statuses == [200, 401]


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("POST", {"Authorization": ""}, 401),
        ("POST", {"Host": "evil.example"}, 421),
        ("POST", {"Origin": "https://evil.example"}, 403),
        # Clients of 2025 open a stream each: the server would soon be busy with silence.
        ("GET", {}, 405),
        ("POST", {}, 200),
    ],
)
def test_over_http_strangers_are_refused_and_no_stream_is_held_open(
    weather_router: Router, method: str, headers: dict[str, str], status: int
) -> None:
    app = http_app(server(weather_router), HttpSettings(token=TOKEN))
    with TestClient(app, base_url="http://localhost") as client:
        answer = client.request(method, "/mcp", json=LIST, headers={**ASKED, **headers})
    assert answer.status_code == status, answer.text
    if status == 405:
        assert answer.headers["Allow"] == "POST"
