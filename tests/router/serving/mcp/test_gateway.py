"""The MCP server in front of several servers at once, with one that is slow, one that is dead and hostile ones."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest

from router import Router
from router.serving.mcp import Upstream
from tests.router.serving.mcp.conftest import plain, weather
from tests.router.serving.mcp.desk import asking, clerk
from tests.support.gateway import visit


def visited(router: Router, *others: Upstream, requests: tuple[str, ...] = (), calls: Any = ()) -> list[str]:
    """The transcript of a visit to these servers, and to some that work and some that do not."""
    upstreams = [
        *others,
        clerk(),
        asking(max_pages=5, max_list_bytes=100_000),
        weather(),
        plain("silent", timeout_s=2.0, name="slow"),
        Upstream("dead", command=("no-such-program",), provider="dead"),
        plain("flood", name="hostile", max_message_bytes=100_000),
    ]
    own = [
        ("clerk/order", {"item": "tea"}),
        ("weather/storm", {"city": "Oslo"}),
        ("asking/storm", {}),
        ("hostile/echo", {}),
    ]

    async def run() -> list[str]:
        with anyio.fail_after(50):
            return await visit(router, upstreams, list(requests), [*calls, *own])

    lines = asyncio.run(run())
    begin = 2 * len(requests) + 2 * len(calls)
    ordered, stormed, asked, hostile = lines[begin + 1 : begin + 8 : 2]
    assert (ordered, stormed) == ("tea: ordered", "! Error executing tool storm: no radar over Oslo")
    assert asked == '"storm"'
    assert hostile.startswith("! call_tool failed: the MCP server 'hostile' was ended: it sent a message of more than")
    assert lines[begin + 8 : begin + 12] == [
        "resources/read quartermaster:clerk/note://all/first",
        "Buy milk.",
        "prompts/list",
        "clerk/review",
    ]
    assert "(asked) The MCP server 'clerk' asks: Order tea?" in lines
    assert "(progress) 2000 of 2000" in lines
    return lines


def test_servers_answer_beside_slow_dead_and_hostile_ones(desk_router: Router) -> None:
    visited(desk_router)


@pytest.mark.nightly
@pytest.mark.usefixtures("real_processes")
def test_real_servers_answer_beside_slow_dead_and_hostile_ones(desk_router: Router, tmp_path: Path) -> None:
    pytest.importorskip("mcp_server_time")
    pytest.importorskip("mcp_server_git")
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path)], check=True)
    noon = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    lines = visited(
        desk_router,
        Upstream("time", command=("mcp-server-time", "--local-timezone", "UTC"), provider="time"),
        Upstream("git", command=("mcp-server-git", "--repository", str(tmp_path)), provider="git"),
        requests=("convert a time to another time zone", "status of the git repository"),
        calls=(("time/convert_time", noon), ("git/git_status", {"repo_path": str(tmp_path)})),
    )
    assert (lines[1].partition("(")[0], lines[3].partition("(")[0]) == ("time/convert_time", "git/git_status")
    assert '"timezone": "Asia/Tokyo"' in lines[5]
    assert lines[7].startswith("Repository status: On branch main")
