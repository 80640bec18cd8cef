"""The MCP server in front of several servers at once, with one that is slow, one that is dead and a hostile one."""

import pytest

from quartermaster.serving.mcp import Upstream
from tests.quartermaster.serving.mcp.conftest import DESK_TOOLS, plain, router_of, weather
from tests.quartermaster.serving.mcp.desk import asking
from tests.support.gateway import visit


@pytest.mark.nightly
@pytest.mark.anyio
async def test_servers_answer_beside_slow_dead_and_hostile_ones(clerk: Upstream) -> None:
    upstreams = [
        clerk,
        asking(max_pages=5, max_list_bytes=100_000),
        weather(),
        plain("silent", timeout_s=0.1, name="slow"),
        Upstream("dead", command=("no-such-program",), provider="dead"),
        plain("flood", name="hostile", max_message_bytes=100_000),
    ]
    calls = [("clerk/order", {"item": "tea"}), ("weather/storm", {"city": "Oslo"}), ("asking/storm", {})]
    lines = await visit(router_of(*DESK_TOOLS), upstreams, [], [*calls, ("hostile/echo", {})])
    assert lines[1:6:2] == ["tea: ordered", '! "no radar"', '"storm"']
    ended = "! call_tool failed: the MCP server 'hostile' was ended: it sent a message of more than"
    assert lines[7].startswith(ended)
    assert "(asked) The MCP server 'clerk' asks: Order tea?" in lines
    assert "(progress) 2000 of 2000" in lines
