"""What the tests of the MCP server share: catalogs of its upstreams' tools, the upstreams themselves."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult, TextContent

from quartermaster.serving.mcp import Upstream, server, transports
from router import Router, ToolRecord
from router.record import Origin
from router.tools.definitions.reading import record_of
from tests.quartermaster.serving.conftest import served_app
from tests.quartermaster.serving.mcp.clerk import clerk_server
from tests.quartermaster.serving.mcp.plain_server import ASKING
from tests.support.ports import kept_port
from tests.support.quick import QUICK

HERE = Path(__file__).parent
PLAIN = HERE / "plain_server.py"


def _schema(*required: str, **types: str) -> dict[str, Any]:
    return {"type": "object", "properties": {k: {"type": v} for k, v in types.items()}, "required": [*required]}


def _tool(provider: str, name: str, description: str = "", schema: Any = None, category: str | None = None) -> Any:
    tool = {"id": f"{provider}/{name.replace(' ', '-')}", "name": name, "provider": provider, "category": category}
    return {**tool, "description": description or f"Do {name}.", "parameters": schema or {"type": "object"}}


_CITY = _schema("city", city="string", days="integer")
_CLERK = ("order", "describe", "consult", "steps", "linger", "told")
TOOLS = [
    _tool("weather", "forecast", "Weather forecast for a city over the next days.", _CITY, "sky"),
    _tool("weather", "sea level", "How high the sea stands in a harbour.", _schema("harbour", harbour="string"), "sea"),
    _tool("weather", "storm", "Storm warnings for a city.", _CITY, "sky"),
    _tool("weather", "gone", "A barometer that was taken down."),
    *(
        _tool("plain", name, schema=_schema(text="string"))
        for name in ("echo", "die", "hang", "talk", "grow", "sprout", "unsaid")
    ),
    _tool("bank", "refund", "Give money back to a customer.", _schema(text="string")),
]
DESK_TOOLS = [*(_tool("asking", name) for name in ASKING), *(_tool("clerk", name) for name in _CLERK)]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop of tests that are coroutines."""
    return "asyncio"


@pytest.fixture(scope="session")
def weather_snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The snapshot of these tools, of words alone, for programs: no encoder is needed."""
    from pipeline.build import build
    from pipeline.settings import load

    folder = tmp_path_factory.mktemp("mcp") / "served"
    folder.mkdir()
    (folder / "tools.jsonl").write_text("".join(json.dumps(tool) + "\n" for tool in TOOLS), encoding="utf-8")
    settings = load(folder, QUICK, environment={})
    return build(settings, workspace=folder / "ws").snapshot


def router_of(*rows: dict[str, Any], **options: Any) -> Router:
    """A router over tools of a catalog, in memory."""
    records = [replace(record_of(row, row["provider"]), origin=Origin("tools.jsonl", "")) for row in rows]
    return Router.from_tools(records, encoder=None, **options)


@pytest.fixture(scope="session")
def weather_router() -> Router:
    """A router over the tools of servers that answer and fail. A test that changes it makes its own."""
    return router_of(*TOOLS)


@pytest.fixture(scope="session")
def desk_router() -> Router:
    """A router over the tools of servers that ask and report. A test that changes it makes its own."""
    return router_of(*DESK_TOOLS)


@pytest.fixture(autouse=True)
def _ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """End servers that hang without waiting long for them."""
    monkeypatch.setattr(transports, "_END_S", 0.1)


@pytest.fixture(scope="module")
def clerk() -> Iterator[Upstream]:
    """The real server, over HTTP."""
    with served_app(clerk_server().streamable_http_app()) as port:
        yield Upstream("clerk", url=f"http://127.0.0.1:{port}/mcp", provider="clerk", timeout_s=120, place="s")


def plain(mode: str = "", timeout_s: float = 120.0, *, name: str = "plain", **settings: Any) -> Upstream:
    """The server that fails as it is told. Its settings may name another `provider`."""
    command = (sys.executable, str(PLAIN), *([mode] if mode else []))
    return Upstream(name, **{"command": command, "provider": name, "timeout_s": timeout_s, **settings})


def weather() -> Upstream:
    """The server whose tools have names with spaces and errors of their own."""
    return plain("weather", name="weather")


@contextmanager
def listening(folder: Path, *arguments: str | Path) -> Iterator[int]:
    """A Python program that listens at the port that is its last argument, once it does, as long as it is needed."""
    log_path = folder / "server.log"
    with kept_port() as port, log_path.open("wb") as log:
        program = subprocess.Popen([sys.executable, *arguments, str(port)], stdout=log, stderr=log)
        try:
            until = time.monotonic() + 150
            while not _answers(port):
                assert program.poll() is None, log_path.read_text(encoding="utf-8")
                assert time.monotonic() < until, "the server did not open its port"
                time.sleep(0.02)
            yield port
        finally:
            program.kill()
            program.wait()


async def asked(router: Router, name: str, arguments: dict[str, Any], *upstreams: Upstream, **how: Any) -> Any:
    """What one call of one of the three tools answers."""
    async with Client(server(router, upstreams, **how)) as client:
        return await client.call_tool(name, arguments)


def record(router: Router, tool_id: str) -> ToolRecord:
    """The record of a tool that there is."""
    found = router.record(tool_id)
    assert found is not None
    return found


def running(pid: int) -> bool:
    """Whether a process is there, be it as a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def text_of(result: CallToolResult) -> str:
    """The one text that a result consists of."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
