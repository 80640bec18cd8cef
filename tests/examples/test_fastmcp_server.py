"""examples/fastmcp_server.py: a FastMCP server that lists a search in place of its tools."""

import pytest

from tests.examples.conftest import Run
from tests.support.documents import blocks
from tests.support.places import ROOT

pytest.importorskip("fastmcp", reason="the extra fastmcp is not installed")


def test_a_client_finds_and_calls_a_tool_that_is_not_listed(run: Run) -> None:
    printed = run("fastmcp_server.py")
    assert printed in [block.text for block in blocks("text", page=ROOT / "docs" / "integrations" / "fastmcp.md")]
    assert printed.startswith("listed  page_oncall, search_tools, call_tool\n")
    assert printed.endswith("called  refunded 900 of ch_2\n")
