"""The files of MCP clients on their page: with the one after, the servers of the one before are found and called."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from tests.quartermaster.serving.mcp.conftest import PLAIN
from tests.quartermaster.serving.mcp.plain_http import serving
from tests.support.documents import blocks
from tests.support.places import ROOT

FILES = [block.text for block in blocks("json", page=ROOT / "docs" / "integrations" / "mcp_clients.md")]
FOLDERS = ["Library/Application Support/Claude", "", ".cursor", ".vscode"]  # in which the clients' files lie


@pytest.mark.nightly
@pytest.mark.parametrize(("number", "folder"), [*enumerate(FOLDERS)])
def test_one_server_in_a_clients_file_stands_for_all_of_before(number: int, folder: str, tmp_path: Path) -> None:
    before, after = FILES[2 * number : 2 * number + 2]
    # What the client itself fills in.
    after = re.sub(r"\$\{(env:|input:)?issues.token\}", "s3cret", after, flags=re.IGNORECASE)
    after = re.sub(r"\$\{workspaceFolder\}|/path/to/ada", str(tmp_path), after)
    (one,) = servers_of(after).values()
    moved = Path(one["args"][one["args"].index("--upstream") + 1])
    assert Path(one["command"]).name == "quartermaster" and moved.parent == tmp_path / folder
    moved.parent.mkdir(parents=True, exist_ok=True)
    npx = tmp_path / "npx"
    npx.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{PLAIN}"\n', encoding="utf-8")
    npx.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    environment = {"PATH": path, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(tmp_path), **one.get("env", {})}
    options = ["-c", "from quartermaster.cli.main import main; main()", *one["args"]]
    program = StdioServerParameters(command=sys.executable, args=options, env=environment, cwd=tmp_path)

    async def talk() -> None:
        async with Client(program) as client:
            for name in servers_of(before):
                answer = await client.call_tool("call_tool", {"tool_id": f"{name}/echo"})
                assert not answer.is_error, answer

    with serving() as issues:
        moved.write_text(before.replace("https://issues.example", issues.url.removesuffix("/mcp")), encoding="utf-8")
        anyio.run(talk)
    assert {headers["Authorization"] for headers in issues.seen} == ({"Bearer s3cret"} if "issues" in before else set())


def servers_of(text: str) -> Any:
    return json.loads(text.replace('"servers"', '"mcpServers"'))["mcpServers"]
