"""A live MCP server that has the deprecated HTTP+SSE transport alone."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from pipeline.errors import RunAborted
from pipeline.settings import LimitsSettings, SourceSettings
from pipeline.sources.transport.mcp_client import read_live
from router.tools.definitions.raw_tool import RawTool
from tests.router.serving.mcp import plain_sse
from tests.router.serving.mcp.conftest import listening
from tests.router.serving.mcp.desk import HERE


def test_its_tools_are_listed_within_the_limits(tmp_path: Path) -> None:
    with listening(tmp_path, HERE / "clerk.py", "sse") as port:
        source = SourceSettings(url=f"http://127.0.0.1:{port}/sse", sse=True)
        tools = list(read_live(source, tmp_path))
        with pytest.raises(RunAborted, match=r"limits\.tools"):
            list(read_live(source, tmp_path, LimitsSettings(tools=3)))
    assert all(isinstance(tool, RawTool) for tool in tools)
    assert len(tools) == 7


def test_a_server_of_2025_that_has_no_other_transport_is_read(tmp_path: Path) -> None:
    with plain_sse.serving() as plain:
        tools = list(read_live(SourceSettings(url=plain.url, sse=True), tmp_path))
    assert "echo" in [tool.name for tool in tools if isinstance(tool, RawTool)]
    assert "initialize" in plain.called


def test_sse_is_for_the_address_of_a_live_server() -> None:
    with pytest.raises(ValidationError, match="sse is for the url of an MCP server"):
        SourceSettings(command=("server",), sse=True)
