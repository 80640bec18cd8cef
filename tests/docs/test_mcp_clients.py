"""The files of MCP clients on their page: with the one after, the servers of the one before are found and called."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from tests.quartermaster.serving.mcp.conftest import PLAIN, text_of
from tests.quartermaster.serving.mcp.plain_http import serving
from tests.support.documents import blocks
from tests.support.places import ROOT

MAIN = "import sys; from quartermaster.cli.main import main; main()"
FILES = [block.text for block in blocks("json", page=ROOT / "docs" / "integrations" / "mcp_clients.md")]
CLIENTS = {
    "Library/Application Support/Claude/claude_desktop_config.json": "mcpServers",
    ".mcp.json": "mcpServers",
    ".cursor/mcp.json": "mcpServers",
    ".vscode/mcp.json": "servers",
}


def as_its_client_fills_it(text: str, folder: Path) -> str:
    """A file with what its client puts for variables and inputs."""
    for written in ("${ISSUES_TOKEN}", "${env:ISSUES_TOKEN}", "${input:issues-token}"):
        text = text.replace(written, "s3cret")
    return text.replace("${workspaceFolder}", str(folder)).replace("/Users/ada", str(folder))


@pytest.mark.nightly
@pytest.mark.parametrize(("number", "place"), [*enumerate(CLIENTS)], ids=[*CLIENTS])
def test_one_server_in_a_clients_file_stands_for_all_of_before(number: int, place: str, tmp_path: Path) -> None:
    before, after = FILES[2 * number : 2 * number + 2]
    file, servers = tmp_path / place, CLIENTS[place]
    (one,) = json.loads(as_its_client_fills_it(after, tmp_path))[servers].values()
    moved = Path(one["args"][one["args"].index("--upstream") + 1])
    assert Path(one["command"]).name == "quartermaster" and moved.parent == file.parent
    npx = tmp_path / "bin" / "npx"
    npx.parent.mkdir()
    npx.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{PLAIN}"\n', encoding="utf-8")
    npx.chmod(0o755)
    environment = {
        "PATH": f"{npx.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        **one.get("env", {}),
    }

    async def talk(command: StdioServerParameters) -> list[Any]:
        async with Client(command) as client:
            calls = [{"tool_id": f"{name}/echo", "arguments": {"text": name}} for name in json.loads(before)[servers]]
            return [json.loads(text_of(await client.call_tool("call_tool", call))) for call in calls]

    with serving() as issues:
        moved.parent.mkdir(parents=True, exist_ok=True)
        moved.write_text(before.replace("https://issues.example", issues.url.removesuffix("/mcp")), encoding="utf-8")
        arguments = ["-c", MAIN, *one["args"]]
        program = StdioServerParameters(command=sys.executable, args=arguments, env=environment, cwd=tmp_path)
        answers = anyio.run(talk, program)
    assert [answer["arguments"]["text"] for answer in answers] == list(json.loads(before)[servers])
    assert {headers["Authorization"] for headers in issues.seen} == ({"Bearer s3cret"} if "issues" in before else set())
