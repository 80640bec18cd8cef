"""Live MCP servers: real programs over stdio, and servers over HTTP on loopback."""

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from pipeline.errors import RunAborted, Unavailable
from pipeline.settings import LimitsSettings, SourceSettings
from pipeline.sources import RawTool
from pipeline.sources.transport import mcp_client
from router.record import Kind, Origin, Parameter
from tests.pipeline.sources.authority import listening, running
from tests.pipeline.sources.reading import tools
from tests.pipeline.sources.web import Web

HERE = Path(__file__).parents[1]
PLAIN = str(HERE / "plain_mcp.py")


def _stdio(*arguments: str, timeout_s: float = 60, **more: Any) -> SourceSettings:
    return SourceSettings(command=(sys.executable, *arguments), timeout_s=timeout_s, **more)


def _stop(source: SourceSettings) -> RunAborted:
    with pytest.raises(RunAborted) as stopped:
        list(mcp_client.read_live(source, HERE))
    return stopped.value


def _unreachable(rest: str = "", user: str = "") -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://{user}127.0.0.1:{probe.getsockname()[1]}/mcp{rest}"


@pytest.fixture(scope="module")
def http_server() -> Iterator[str]:
    server = MCPServer("weather")

    @server.tool()
    def forecast(city: str, days: int = 1) -> str:
        """Forecast for a city."""
        return f"{city}: rain for {days}"

    with listening() as (own, root), running(server.streamable_http_app(), own):
        yield f"{root}/mcp"


def test_all_pages_of_a_real_server_over_stdio_are_read_and_its_prompts_where_they_are_asked_for() -> None:
    source = _stdio(str(HERE / "mcp_server.py"), prompts=True)
    found = tools(mcp_client.read_live(source, HERE, LimitsSettings(tools=3, pages=3)))  # as many as are allowed
    assert found[:3] == [
        RawTool(
            name=f"tool_{page}",
            origin=Origin(sys.executable, f"/tools/{page - 1}"),
            description=f"Of page {page}.",
            input_schema={"type": "object", "properties": {"q": {"type": "string"}}},
            provider="pager",
            annotations={"readOnlyHint": True, "title": f"Tool {page}"},
        )
        for page in (1, 2, 3)
    ]
    assert [(one.name, one.kind, one.origin.pointer) for one in found[3:]] == [
        ("prompt_1", Kind.PROMPT, "/prompts/0"),
        ("prompt_2", Kind.PROMPT, "/prompts/1"),
    ]
    assert found[4].input_schema["required"] == ["repo"]


def test_a_server_without_prompts_is_asked_for_none_and_runs_in_the_catalogs_folder(tmp_path: Path) -> None:
    (tmp_path / "server.py").symlink_to(PLAIN)
    source = SourceSettings(command=("python", "server.py", "pages"), timeout_s=60, prompts=True)
    found = tools(mcp_client.read_live(source, tmp_path))
    assert [tool.origin for tool in found] == [Origin("python", f"/tools/{index}") for index in range(3)]


def test_a_server_over_stdio_is_given_its_environment_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "sk-secret")
    (tool,) = tools(mcp_client.read_live(_stdio(PLAIN, "environment", env={"OWN": "x-${KEY}"}), HERE))
    seen = json.loads(tool.description)
    assert seen["OWN"] == "x-sk-secret" and "KEY" not in seen


def test_a_server_over_http_is_read_and_its_query_is_told_nowhere(http_server: str) -> None:
    (tool,) = tools(mcp_client.read_live(SourceSettings(url=f"{http_server}?key=sk-secret", timeout_s=60), HERE))
    assert (tool.name, tool.provider, tool.description) == ("forecast", "weather", "Forecast for a city.")
    assert tool.origin == Origin(http_server, "/tools/0")
    assert list(tool.input_schema["properties"]) == ["city", "days"]
    assert tool.input_schema["required"] == ["city"]
    assert tool.outputs == (Parameter("result", "string", required=True),)


@pytest.mark.parametrize(
    ("arguments", "said", "passes"),
    [
        ((PLAIN, "repeat"), "could not be read: the MCP server gave the cursor 'same' twice", False),
        ((PLAIN, "breaks-off"), "could not be read", True),  # not a shorter list
        (("-c", "pass"), "could not be read", True),
        (("-c", "import time; time.sleep(600)"), "did not list its tools within 0.3 s", True),
    ],
    ids=["repeats-its-cursor", "breaks-off", "ends-at-once", "never-answers"],
)
def test_a_server_that_does_not_list_its_tools_stops_the_run(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str, passes: bool
) -> None:
    monkeypatch.setattr("mcp.client.stdio.PROCESS_TERMINATION_TIMEOUT", 0.1)
    stopped = _stop(_stdio(*arguments, timeout_s=0.3 if "sleep" in arguments[-1] else 60))
    assert str(stopped).startswith(f"the MCP server '{sys.executable}' {said}")
    assert isinstance(stopped, Unavailable) is passes


def test_an_answer_that_is_not_of_mcp_is_told_in_plain_english() -> None:
    message = str(_stop(_stdio(PLAIN, "malformed")))
    assert "its answer is not as MCP has it: " in message and "inputSchema must be an object" in message
    assert "validation error" not in message and "pydantic" not in message and "\n" not in message


def test_an_unreachable_url_is_unavailable_and_its_secrets_are_not_told() -> None:
    url = _unreachable("?key=sk-secret#sk-secret", "ada:sk-secret@")
    stopped = _stop(SourceSettings(url=url))
    assert "/mcp' could not be read: ConnectError" in str(stopped) and "sk-secret" not in str(stopped)
    assert isinstance(stopped, Unavailable)


def test_a_command_that_does_not_exist_stops_the_run_and_its_arguments_are_not_told(tmp_path: Path) -> None:
    command = str(tmp_path / "no-such-server")
    stopped = _stop(SourceSettings(command=(command, "--key", "sk-secret")))
    assert str(stopped).startswith(f"the command '{command}' is not installed: ") and "sk-secret" not in str(stopped)
    assert not isinstance(stopped, Unavailable)


@pytest.mark.parametrize(
    ("status", "passes"),
    [(200, False), (405, False), (401, False), (429, True), (500, True), (503, True)],
)
def test_only_a_server_that_is_busy_or_broken_is_unavailable(web: Web, status: int, passes: bool) -> None:
    page = "<!doctype html><html>Sign in</html>" if status == 200 else ""
    stopped = _stop(SourceSettings(url=web.page(page, status=status, headers={"content-type": "text/html"})))
    assert ("Sign in" not in str(stopped)) if status == 200 else (f"(HTTP {status})" in str(stopped))
    assert isinstance(stopped, Unavailable) is passes
