"""What the tests of the MCP server share: a catalog of two servers' tools, a router over it, the servers themselves."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp_types import CallToolResult, TextContent

from router import Router
from router.serving.mcp import Upstream

HERE = Path(__file__).parent
WEATHER, PLAIN = HERE / "weather.py", HERE / "plain_server.py"
CITY = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}
HARBOUR = {"type": "object", "properties": {"harbour": {"type": "string"}}, "required": ["harbour"]}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}


def _tool(provider: str, name: str, description: str, parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
    tool = {"id": f"{provider}/{name.replace(' ', '-')}", "name": name, "provider": provider}
    return {**tool, "description": description, "parameters": parameters, **more}


TOOLS = [
    _tool("weather", "forecast", "Weather forecast for a city over the next days.", CITY, category="sky"),
    _tool("weather", "sea level", "How high the sea stands in a harbour.", HARBOUR, category="sea"),
    _tool("weather", "storm", "Storm warnings for a city.", CITY, category="sky"),
    _tool("weather", "grow", "Open the observatory, which then offers its own instruments.", {}),
    _tool(
        "weather", "wait", "Wait for some seconds.", {"type": "object", "properties": {"seconds": {"type": "number"}}}
    ),
    _tool("weather", "gone", "A barometer that was taken down.", {}),
    *(
        _tool("plain", name, f"Do {name}.", TEXT)
        for name in ("echo", "die", "hang", "talk", "grow", "sprout", "unsaid")
    ),
    _tool("bank", "refund", "Give money back to a customer.", TEXT),
]


@pytest.fixture(scope="session")
def weather_snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The snapshot of these tools, of words alone: no encoder is needed."""
    from pipeline.build import build
    from pipeline.settings import load

    folder = tmp_path_factory.mktemp("mcp") / "served"
    folder.mkdir()
    (folder / "tools.jsonl").write_text("".join(json.dumps(tool) + "\n" for tool in TOOLS), encoding="utf-8")
    settings = load(folder, {"vectors": {"encoder": "none"}}, environment={})
    return build(settings, workspace=folder / "ws").snapshot


_DESK = {
    "asking": (
        "ask",
        "sample",
        "roots",
        "hold",
        "release",
        "steps",
        "storm",
        "late",
        "pester",
        "told",
        "chatter",
        "stubborn",
        "two",
    ),
    "clerk": ("order", "describe", "steps", "linger", "mutter", "told", "write"),
}
_DESK_TOOLS = [_tool(server, name, f"Do {name}.", {}) for server, names in _DESK.items() for name in names]


@pytest.fixture(scope="session")
def desk_snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The snapshot of the tools of servers that ask and report."""
    from pipeline.build import build
    from pipeline.settings import load

    folder = tmp_path_factory.mktemp("desk") / "served"
    folder.mkdir()
    (folder / "tools.jsonl").write_text("".join(json.dumps(tool) + "\n" for tool in _DESK_TOOLS), encoding="utf-8")
    return build(load(folder, {"vectors": {"encoder": "none"}}, environment={}), workspace=folder / "ws").snapshot


@pytest.fixture
def desk_router(desk_snapshot: Path) -> Iterator[Router]:
    with Router.open(desk_snapshot) as router:
        yield router


@pytest.fixture
def weather_router(weather_snapshot: Path) -> Iterator[Router]:
    with Router.open(weather_snapshot) as router:
        yield router


def plain(mode: str = "", timeout_s: float = 20.0, **environment: str) -> Upstream:
    """The server that fails as it is told."""
    command = (sys.executable, str(PLAIN), *([mode] if mode else []))
    return Upstream("plain", command=command, provider="plain", timeout_s=timeout_s, environment=environment)


@pytest.fixture(scope="session")
def weather(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upstream]:
    """The real server, over streamable HTTP."""
    with listening(tmp_path_factory.mktemp("weather"), WEATHER, "http") as port:
        yield Upstream("weather", url=f"http://127.0.0.1:{port}/mcp", provider="weather")


@contextmanager
def listening(folder: Path, *arguments: str | Path) -> Iterator[int]:
    """A Python program that listens at the port that is its last argument, once it does, as long as it is needed."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    log_path = folder / "server.log"
    with log_path.open("wb") as log:
        program = subprocess.Popen([sys.executable, *arguments, str(port)], stdout=log, stderr=log)
        try:
            until = time.monotonic() + 60
            while not _answers(port):
                assert program.poll() is None, log_path.read_text(encoding="utf-8")
                assert time.monotonic() < until, "the server did not open its port"
                time.sleep(0.02)
            yield port
        finally:
            program.kill()
            program.wait()


def text_of(result: CallToolResult) -> str:
    """The one text that a result consists of."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
