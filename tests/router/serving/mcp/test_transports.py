"""`quartermaster serve mcp` as a program: over stdio and over HTTP, asked by a real client, with servers of its own."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.pipeline.enrichment.model_server import ModelServer, Reply, completion
from tests.router.adapters.agent_model import calling
from tests.router.serving.mcp.conftest import PLAIN, listening, text
from tests.support.places import ROOT

TOKEN = "a-token-of-twenty-letters"
_MAIN = "import sys; from flows.cli.main import main; main()"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that names the servers, as MCP clients have it."""
    path = tmp_path_factory.mktemp("servers") / "servers.json"
    server = {"command": sys.executable, "args": [str(PLAIN)], "env": {"SECRET": "${WEATHER_SECRET}"}}
    path.write_text(json.dumps({"mcpServers": {"plain": server}}), encoding="utf-8")
    return path


def _command(snapshot: Path, servers: Path, *more: str) -> list[str]:
    options = ("--snapshot", str(snapshot), "--upstream", str(servers), "--watch", "0", *more)
    return ["-c", _MAIN, "serve", "mcp", *options]


def _running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_client_over_stdio_finds_and_calls_and_leaves_no_process_behind(
    weather_snapshot: Path, servers: Path
) -> None:
    environment = {"PYTHONPATH": str(ROOT), "WEATHER_SECRET": "s3"}
    program = StdioServerParameters(
        command=sys.executable, args=_command(weather_snapshot, servers, "--connect"), env=environment
    )

    async def talk() -> tuple[str, dict[str, object], str]:
        async with Client(program) as client:
            found = await client.call_tool("find_tools", {"request": "do echo", "k": 1})
            called = await client.call_tool("call_tool", {"tool_id": "plain/echo", "arguments": {"text": "hi"}})
            # What its servers print, and what it logs, never reaches the wire.
            await client.call_tool("call_tool", {"tool_id": "plain/talk"})
            await client.call_tool("call_tool", {"tool_id": "plain/grow"})
            late = ""
            until = time.monotonic() + 10
            while "plain/late" not in late and time.monotonic() < until:
                late = text(await client.call_tool("find_tools", {"request": "do late", "k": 1}))
            return text(found), json.loads(text(called)), late

    found, called, late = asyncio.run(talk())
    assert found == "plain/echo(text?: string) — Do echo."
    assert (called["arguments"], called["secret"]) == ({"text": "hi"}, "s3")
    assert late == "plain/late(text?: string) — Do late."
    assert not _running(int(str(called["pid"])))


@pytest.fixture(scope="module")
def http_port(weather_snapshot: Path, servers: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    environment = {"WEATHER_SECRET": "s3", "QUARTERMASTER_TOKEN": TOKEN, "PYTHONPATH": str(ROOT)}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        arguments = _command(weather_snapshot, servers, "--http", "--port")
        with listening(tmp_path_factory.mktemp("http"), *arguments) as port:
            yield port


def test_a_client_over_http_needs_the_token_and_finds_and_calls(http_port: int) -> None:
    url = f"http://127.0.0.1:{http_port}/mcp"

    async def talk(token: str) -> list[str]:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=20) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            answers = [
                await client.call_tool("find_tools", {"request": "sea level in the harbour", "k": 1}),
                await client.call_tool("call_tool", {"tool_id": "plain/echo", "arguments": {"text": "hi"}}),
            ]
            return [text(answer) for answer in answers]

    found, called = asyncio.run(talk(TOKEN))
    assert found == "weather/sea-level(harbour: string) — How high the sea stands in a harbour."
    assert json.loads(called)["arguments"] == {"text": "hi"}
    with pytest.raises(Exception):  # noqa: B017 - whatever the client makes of a 401
        asyncio.run(talk("another-token-of-letters"))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "evil.example"}, 421),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "https://evil.example"}, 403),
    ],
)
def test_over_http_strangers_are_refused(http_port: int, headers: dict[str, str], status: int) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accept = {"Accept": "application/json, text/event-stream"}
    answer = httpx2.post(f"http://127.0.0.1:{http_port}/mcp", json=message, headers={**accept, **headers})
    assert answer.status_code == status


def test_over_http_no_stream_is_held_open_for_what_is_never_said(http_port: int) -> None:
    """Clients of 2025 open one each: the server would soon be busy with silence."""
    headers = {"Accept": "text/event-stream", "Authorization": f"Bearer {TOKEN}"}
    answer = httpx2.get(f"http://127.0.0.1:{http_port}/mcp", headers=headers, timeout=5)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


def test_a_stdio_server_whose_client_is_gone_ends_without_a_traceback(weather_snapshot: Path, servers: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "WEATHER_SECRET": "s3"}
    command = [sys.executable, *_command(weather_snapshot, servers)]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as nobody:
        asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n"
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=nobody, stderr=pipe, env=environment, text=True) as program:
            try:
                assert program.stdin and program.stderr
                program.stdin.write(asked)
                program.stdin.flush()
                assert program.wait(20) == 0  # though the other pipe is open
                assert program.stderr.read() == "the client left before it had read its answers\n"
            finally:
                program.kill()


def test_a_stdio_server_that_is_terminated_ends_its_own_servers(weather_snapshot: Path, servers: Path) -> None:
    """As a client does that does not close the pipe first, and whatever is under way: no traceback."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "WEATHER_SECRET": "s3"}
    command = [sys.executable, *_command(weather_snapshot, servers)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, text=True) as program:
        assert program.stdin and program.stdout and program.stderr
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        call = {"name": "call_tool", "arguments": {"tool_id": "plain/echo"}}
        for message in (
            {"id": 1, "method": "initialize", "params": client},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": call},
        ):
            program.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            program.stdin.flush()
        answers = [json.loads(program.stdout.readline()) for _ in range(2)]
        pid = json.loads(answers[1]["result"]["content"][0]["text"])["pid"]
        assert _running(pid)
        program.stdin.writelines(
            json.dumps({"jsonrpc": "2.0", "id": n, "method": "ping"}) + "\n" for n in range(3, 203)
        )
        program.stdin.flush()
        program.stdout.readline()
        program.send_signal(signal.SIGTERM)
        assert program.wait(10) == 128 + signal.SIGTERM
        assert "Traceback" not in program.stderr.read()
    assert not _running(pid)


def test_an_agent_of_somebody_elses_making_finds_and_calls_a_tool(
    http_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop and the MCP client are the OpenAI Agents SDK's; the model, on loopback, does as the instructions say."""
    agents = pytest.importorskip("agents", reason="the extra agents is not installed")
    from agents.mcp import MCPServerStreamableHttp, MCPServerStreamableHttpParams

    def script(body: Mapping[str, Any], _: int) -> Reply:
        said = [message["content"][0]["text"] for message in body["messages"] if message["role"] == "tool"]
        if not said:
            return calling("find_tools", {"request": body["messages"][-1]["content"], "k": 1})
        if len(said) == 1:
            return calling("call_tool", {"tool_id": said[0].partition("(")[0], "arguments": {"text": "hi"}})
        return Reply(completion(f"It says: {said[1]}"))

    async def run() -> str:
        parameters: MCPServerStreamableHttpParams = {
            "url": f"http://127.0.0.1:{http_port}/mcp",
            "headers": {"Authorization": f"Bearer {TOKEN}"},
        }
        async with MCPServerStreamableHttp(params=parameters) as server:
            agent = agents.Agent(name="helper", model="gpt-5-mini", mcp_servers=[server])
            return str((await agents.Runner.run(agent, "please do echo")).final_output)

    agents.set_default_openai_api("chat_completions")
    agents.set_tracing_disabled(True)
    with ModelServer(script) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
        assert json.loads(asyncio.run(run()).removeprefix("It says: "))["arguments"] == {"text": "hi"}
    offered = [tool["function"]["name"] for tool in model.requests[0].body["tools"]]
    assert offered == ["find_tools", "describe_tool", "call_tool"]
