"""Who may see what over MCP: of each message's token over HTTP, of the profile by name over stdio."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult
from starlette.testclient import TestClient

from quartermaster.serving.http import HttpSettings
from quartermaster.serving.mcp import server
from quartermaster.serving.mcp.http import http_app
from quartermaster.serving.profiles import Callers
from router import Router
from tests.quartermaster.serving.mcp.conftest import asked, plain, text_of
from tests.support.profiles import ALICE, BOB, ROOT_TOKEN, written
from tests.support.profiles import FILE as OFFICE

pytestmark = pytest.mark.anyio
FILE = (
    OFFICE.replace('["stripe", "slack"]', '["weather"]')
    .replace('["linear", "github"]', '["plain"]')
    .replace("*list*", "storm")
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "profiles.toml", FILE, 'audit = "audit.jsonl"')


@pytest.fixture
def callers(weather_router: Router, path: Path) -> Callers:
    return Callers(path, weather_router)


async def test_a_tool_outside_is_neither_found_nor_described_nor_suggested(
    weather_router: Router, callers: Callers
) -> None:
    support: dict[str, Any] = {"callers": callers, "profile": "support"}
    wishes = {"request": "weather forecast, storm warnings, refund", "k": 20}
    found = text_of(await asked(weather_router, "find_tools", wishes, **support))
    assert "weather/forecast" in found
    assert not any(name in found for name in ("storm(", "bank/", "plain/"))
    outside, unknown = [
        await asked(weather_router, "describe_tool", {"tool_id": f"weather/{name}"}, **support)
        for name in ("storm", "stork")
    ]
    assert outside.is_error and unknown.is_error
    assert text_of(outside).replace("storm", "stork") == text_of(unknown)
    assert "bank" not in text_of(outside)


async def test_a_profile_that_may_not_call_has_no_call_tool(weather_router: Router, callers: Callers) -> None:
    async with Client(server(weather_router, [plain()], callers=callers, profile="support")) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["find_tools", "describe_tool"]
        refused = await client.call_tool("call_tool", {"tool_id": "weather/forecast"})
    assert text_of(refused) == "there is no tool 'call_tool' here, only find_tools, describe_tool"


async def test_calls_are_made_within_the_profile_and_told_of_before_and_after(
    weather_router: Router, callers: Callers, path: Path
) -> None:
    dev: dict[str, Any] = {"callers": callers, "profile": "dev"}
    arguments = {"tool_id": "plain/echo", "arguments": {"text": "a secret"}}
    assert not (await asked(weather_router, "call_tool", arguments, plain(), **dev)).is_error
    assert (await asked(weather_router, "call_tool", {"tool_id": "bank/refund"}, plain(), **dev)).is_error
    await asked(weather_router, "find_tools", {"request": "echo", "k": 1}, **dev)
    log = (path.parent / "audit.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in log.splitlines()]
    assert [(row["path"], row["outcome"], row["called"], row["offered"]) for row in rows] == [
        ("call_tool", "started", ["plain/echo"], []),
        ("call_tool", "ok", ["plain/echo"], []),
        ("call_tool", "failed", [], []),
        ("find_tools", "ok", [], ["plain/echo"]),
    ]
    assert "a secret" not in log


async def test_a_call_that_cannot_be_recorded_is_not_made(weather_router: Router, tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    path = written(tmp_path / "profiles.toml", FILE, 'audit = "log/audit.jsonl"')
    program = (sys.executable, "-c", f"open({str(tmp_path / 'started')!r}, 'w')")
    served = server(weather_router, [plain(command=program)], callers=Callers(path, weather_router), profile="dev")
    async with Client(served) as client:
        (tmp_path / "log" / "audit.jsonl").unlink()
        (tmp_path / "log").rmdir()
        result = await client.call_tool("call_tool", {"tool_id": "plain/echo"})
    assert result.is_error
    assert "the audit log" in text_of(result)
    assert not (tmp_path / "started").exists()


async def test_a_profile_that_was_taken_away_ends_at_the_next_call(
    weather_router: Router, callers: Callers, path: Path
) -> None:
    async with Client(server(weather_router, callers=callers, profile="dev")) as client:
        assert not (await client.call_tool("find_tools", {"request": "echo"})).is_error
        written(path, FILE[: FILE.index("[profiles.dev]")])
        after = await client.call_tool("find_tools", {"request": "echo"})
    assert after.is_error
    assert "there is no profile 'dev'" in text_of(after)


@pytest.fixture
def over_http(weather_router: Router, callers: Callers, path: Path) -> Iterator[TestClient]:
    served = http_app(server(weather_router, callers=callers), HttpSettings(profiles=path), callers)
    with TestClient(served, base_url="http://localhost") as client:
        yield client


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
def test_over_http_each_message_is_answered_within_its_own_token(over_http: TestClient, version: str) -> None:
    def found(token: str, **headers: str) -> str:
        meta = {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        parameters = {"name": "find_tools", "arguments": {"request": "storm refund echo forecast", "k": 20}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**parameters, "_meta": meta}}
        sent = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": version,
            "MCP-Method": "tools/call",
            "MCP-Name": "find_tools",
            **headers,
        }
        response = over_http.post("/mcp", json=body, headers=sent)
        # The protocol of 2025 answers by an event, that of 2026 by JSON where there is no progress to tell of.
        answer = json.loads(response.text.partition("data: ")[2] or response.text)
        assert "error" not in answer, response.text
        return text_of(CallToolResult.model_validate(answer["result"]))

    for headers in ({}, {"Mcp-Session-Id": "of-somebody-else"}):  # no session is kept: a token alone says who calls
        assert not any(name in found(ALICE, **headers) for name in ("weather/storm", "bank/", "plain/"))
        assert not any(name in found(BOB, **headers) for name in ("weather/", "bank/"))
        assert all(name in found(ROOT_TOKEN, **headers) for name in ("weather/storm", "bank/refund", "plain/echo"))


def test_over_http_a_message_without_a_known_token_is_refused(over_http: TestClient) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for headers in ({}, {"Authorization": "Bearer nobody-0123456789"}):
        assert over_http.post("/mcp", json=body, headers=headers).status_code == 401


def test_profiles_and_their_callers_are_given_together(weather_router: Router, path: Path) -> None:
    with pytest.raises(ValueError, match="give both or neither"):
        http_app(server(weather_router), HttpSettings(profiles=path))
