"""Live MCP servers: real programs over stdio, and servers over HTTP on loopback; what is read of them, and how much."""

import gzip
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from pipeline.errors import Unavailable
from pipeline.settings import LimitsSettings, SourceSettings
from pipeline.sources import RawTool
from pipeline.sources.naming import label_of_command
from pipeline.sources.transport import http, mcp_client
from router.record import Kind, Origin, Parameter
from tests.pipeline.sources.authority import listening, running
from tests.pipeline.sources.reading import apart, stop_one, tools
from tests.pipeline.sources.web import Web
from tests.support.ports import kept_port

HERE = Path(__file__).parents[1]
PLAIN = str(HERE / "plain_mcp.py")


def _read(source: SourceSettings, folder: Path = HERE, **limits: int) -> list[RawTool]:
    return tools(mcp_client.read_live(source, folder, LimitsSettings(**limits)))


def _stdio(*arguments: str, **more: Any) -> SourceSettings:
    return SourceSettings(command=(sys.executable, *arguments), **{"timeout_s": 60, **more})


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
    found = _read(_stdio(str(HERE / "mcp_server.py"), prompts=True), tools=3, pages=3)  # as many as are allowed
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


def test_a_page_with_bad_rows_gives_the_good_ones_and_an_empty_cursor_ends_the_list() -> None:
    names, rejected = apart(mcp_client.read_live(_stdio(PLAIN, "bad-rows", prompts=True), HERE))
    assert names == ["send", "read", "review"]
    assert [one.removeprefix(f"{sys.executable} ") for one in rejected] == [
        "/tools/1: 'no_schema' is not as MCP has it: inputSchema is missing",
        "/tools/2: 'null_schema' is not as MCP has it: inputSchema must be an object of names and values",
        "/tools/3: is not as MCP has it: name must be a text",
        "/tools/4: is not as MCP has it: it must be an object of names and values",
        "/tools/5: 'empty_schema' is not as MCP has it: inputSchema.type is missing",
        "/tools/6: 'a_list' is not as MCP has it: inputSchema.type must be 'object'",
        "/prompts/0: is not as MCP has it: name is missing",
    ]


def test_a_server_without_prompts_is_asked_for_none_and_runs_in_the_catalogs_folder(tmp_path: Path) -> None:
    (tmp_path / "server.py").symlink_to(PLAIN)
    found = _read(SourceSettings(command=("python", "server.py", "pages"), timeout_s=60, prompts=True), tmp_path)
    assert [tool.origin for tool in found] == [Origin("python", f"/tools/{index}") for index in range(3)]


def test_a_server_over_stdio_is_given_its_environment_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "sk-secret")
    (tool,) = _read(_stdio(PLAIN, "environment", env={"OWN": "x-${KEY}"}))
    seen = json.loads(tool.description)
    assert seen["OWN"] == "x-sk-secret" and "KEY" not in seen


def test_a_server_over_http_is_read_and_its_query_is_told_nowhere(http_server: str) -> None:
    (tool,) = _read(SourceSettings(url=f"{http_server}?key=sk-secret", timeout_s=60))
    assert (tool.name, tool.provider, tool.description) == ("forecast", "weather", "Forecast for a city.")
    assert tool.origin == Origin(http_server, "/tools/0")
    assert list(tool.input_schema["properties"]) == ["city", "days"]
    assert tool.input_schema["required"] == ["city"]
    assert tool.outputs == (Parameter("result", "string", required=True),)


@pytest.mark.parametrize(
    ("arguments", "limits", "said", "passes"),
    [
        ((PLAIN, "repeat"), {}, "could not be read: the MCP server gave the cursor 'same' twice", False),
        ((PLAIN, "breaks-off"), {}, "could not be read", True),  # not a shorter list
        ((PLAIN, "malformed"), {}, "could not be read: its answer is not as MCP has it: tools must be", False),
        (("-c", "pass"), {}, "could not be read", True),
        (("-c", "import time; time.sleep(600)"), {}, "did not list its tools within 0.3 s", True),
        ((PLAIN, "pages"), {"tools": 2}, "lists more than the 2 tools of limits.tools", False),
        ((PLAIN, "pages"), {"pages": 2}, "answered 2 pages and more, the limit of limits.pages", False),
    ],
    ids=["repeats-its-cursor", "breaks-off", "malformed", "ends-at-once", "never-answers", "tools", "pages"],
)
def test_a_server_that_does_not_list_its_tools_or_without_end_stops_the_run(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], limits: dict[str, int], said: str, passes: bool
) -> None:
    monkeypatch.setattr("mcp.client.stdio.PROCESS_TERMINATION_TIMEOUT", 0.1)
    started = time.monotonic()
    timeout_s = 0.3 if "sleep" in arguments[-1] else 60
    stopped = stop_one(HERE, limits, command=(sys.executable, *arguments), timeout_s=timeout_s)
    message = str(stopped)
    assert message.startswith(f"the MCP server '{label_of_command([sys.executable, *arguments])}' ") and said in message
    assert isinstance(stopped, Unavailable) is passes and time.monotonic() - started < 60
    if "malformed" in arguments:  # in plain English
        assert "validation error" not in message and "pydantic" not in message and "\n" not in message


def test_an_unreachable_url_is_unavailable_and_its_secrets_are_not_told() -> None:
    with kept_port() as port:
        stopped = stop_one(url=f"http://ada:sk-secret@127.0.0.1:{port}/mcp?key=sk-secret#sk-secret")
    assert "/mcp' could not be read: ConnectError" in str(stopped) and "sk-secret" not in str(stopped)
    assert isinstance(stopped, Unavailable)


@pytest.mark.parametrize(
    ("status", "passes"),
    [(200, False), (405, False), (401, False), (429, True), (500, True), (503, True)],
)
def test_only_a_server_that_is_busy_or_broken_is_unavailable(web: Web, status: int, passes: bool) -> None:
    page = "<!doctype html><html>Sign in</html>" if status == 200 else ""
    stopped = stop_one(url=web.page(page, status=status, headers={"content-type": "text/html"}))
    assert ("Sign in" not in str(stopped)) if status == 200 else (f"(HTTP {status})" in str(stopped))
    assert isinstance(stopped, Unavailable) is passes


@pytest.mark.parametrize(
    ("body", "headers", "told"),
    [
        (b"x" * 60_000, {"content-type": "application/json"}, "limits.message_bytes"),
        (
            b'data: {"jsonrpc": "2.0", "method": "notifications/x"}\n\n' * 5_000,
            {"content-type": "text/event-stream"},
            "limits.document_bytes",
        ),
        (
            gzip.compress(b"x" * 10_000_000, 1),
            {"content-type": "application/json", "content-encoding": "gzip"},
            "answered in the encoding 'gzip', which it was not asked for",
        ),
    ],
    ids=["json", "events", "a-bomb"],
)
def test_a_server_without_end_is_cut_off_over_http(web: Web, body: bytes, headers: dict[str, str], told: str) -> None:
    limits = {"message_bytes": 50_000, "document_bytes": 200_000}
    stopped = stop_one(limits=limits, url=web.page(body, headers=headers))
    assert told in str(stopped) and not isinstance(stopped, Unavailable)
    assert web.asked[-1][1]["accept-encoding"] == "identity"


def test_a_server_leads_its_authorization_to_no_private_address(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of the internet, which a name of this test stands for, names the cloud's metadata service."""
    monkeypatch.setattr(http, "looked_up", lambda *_: ["127.0.0.1"])
    monkeypatch.setattr(http, "is_public", lambda address: str(address) == "127.0.0.1")
    port = web.root.rpartition(":")[2]
    metadata = "http://169.254.169.254/latest/meta-data"
    web.page("", path="/guarded", status=401, headers={"www-authenticate": f'Bearer resource_metadata="{metadata}"'})
    monkeypatch.setenv("SECRET", "s3cret-word")
    oauth = {"client_id": "me", "client_secret": "${SECRET}", "issuer": "https://login.example"}
    stopped = stop_one(url=f"http://tools.example.com:{port}/guarded", oauth=oauth)
    assert "leads to '169.254.169.254': an address of this machine or a private network" in str(stopped)
    assert web.asked[-1][0] == "/guarded"
