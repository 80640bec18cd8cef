"""The MCP server in front of real servers at once, with one that is slow, one that is dead and hostile ones."""

import asyncio
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from router import Router
from router.serving.mcp import Upstream
from tests.router.serving.mcp.conftest import HERE, plain
from tests.router.serving.mcp.desk import asking, clerk
from tests.support.gateway import visit

pytest.importorskip("mcp_server_time")
pytest.importorskip("mcp_server_git")


def test_real_servers_answer_beside_slow_dead_and_hostile_ones(desk_router: Router, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path)], check=True)
    upstreams = [
        Upstream("time", command=("mcp-server-time", "--local-timezone", "UTC"), provider="time"),
        Upstream("git", command=("mcp-server-git", "--repository", str(tmp_path)), provider="git"),
        clerk(),
        asking(max_pages=5, max_list_bytes=100_000),
        Upstream("weather", command=(sys.executable, str(HERE / "weather.py"), "stdio"), provider="weather"),
        replace(plain("silent", timeout_s=2.0), name="slow", provider="slow"),
        Upstream("dead", command=("no-such-program",), provider="dead"),
        replace(plain("flood"), name="hostile", provider="hostile", max_message_bytes=100_000),
    ]
    noon = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    started = time.monotonic()
    lines = asyncio.run(
        visit(
            desk_router,
            upstreams,
            ["convert a time to another time zone", "status of the git repository"],
            [
                ("time/convert_time", noon),
                ("git/git_status", {"repo_path": str(tmp_path)}),
                ("clerk/order", {"item": "tea"}),
                ("weather/storm", {"city": "Oslo"}),
                ("asking/storm", {}),
                ("hostile/echo", {}),
            ],
        )
    )
    assert lines[1].startswith("time/convert_time(")
    assert lines[3].startswith("git/git_status(")
    assert '"timezone": "Asia/Tokyo"' in lines[5]
    texts = [lines[2 * place + 1] for place in range(3, 8)]
    assert texts[0].startswith("Repository status: On branch main")
    assert texts[1] == "tea: ordered"
    assert texts[2] == "! Error executing tool storm: no radar over Oslo"
    assert texts[3] == '"storm"'
    assert texts[4].startswith("! call_tool failed: the MCP server 'hostile' was ended: it sent a message of more than")
    assert lines[16:20] == [
        "resources/read quartermaster:clerk/note://all/first",
        "Buy milk.",
        "prompts/list",
        "clerk/review",
    ]
    assert "(asked) The MCP server 'clerk' asks: Order tea?" in lines
    assert "(progress) 20000 of 20000" in lines
    assert time.monotonic() - started < 60
