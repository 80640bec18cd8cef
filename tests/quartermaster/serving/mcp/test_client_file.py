"""A client's file of MCP servers, in one line: its servers are asked, their tools found and called, others left out."""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from pipeline.errors import SettingsInvalid
from quartermaster.cli.commands.sources import catalog_upstreams
from quartermaster.serving.mcp import Upstream
from tests.quartermaster.serving.mcp.conftest import PLAIN, plain, text_of
from tests.support.command_line import called
from tests.support.places import ROOT

MAIN = "import sys; from quartermaster.cli.main import main; main()"
SECRET = "sk-very-secret"


@pytest.fixture
def file(tmp_path: Path, clerk: Upstream, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Servers over stdio and HTTP, two with tools of the same names; one is gone, and one speaks what is not read."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    local = {"command": sys.executable, "args": ["${SCRIPT}"], "env": {"KEY": "${KEY}"}}
    servers = {
        "Post Office": local,
        "post": {**local, "includeTools": ["echo", "die"], "excludeTools": ["die"]},
        "clerk": {"type": "http", "url": clerk.url, "headers": {"X-Key": "Bearer ${KEY}"}},
        "gone": {"command": "no-such-mcp-server", "args": ["--key", SECRET]},
        "old": {"type": "sse", "url": "https://old.example/sse"},
        "off": {"command": "off", "disabled": True},
    }
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return path


def test_a_file_is_served_at_once_in_an_empty_workspace(file: Path, tmp_path: Path) -> None:
    variables = {
        "PYTHONPATH": str(ROOT),
        "KEY": SECRET,
        "SCRIPT": str(PLAIN),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    arguments = ["-c", MAIN, "serve", "mcp", "--upstream", str(file), "--allow-commands"]
    program = StdioServerParameters(command=sys.executable, args=arguments, env=variables, cwd=tmp_path)

    async def talk() -> tuple[str, str]:
        async with Client(program) as client:
            wishes = {"request": "echo, order an item once the user confirmed it", "k": 20}
            found = text_of(await client.call_tool("find_tools", wishes))
            answers = ""
            for provider in ("post", "Post-Office"):
                call = {"tool_id": f"{provider}/echo", "arguments": {"text": f"hello {provider}"}}
                answers += text_of(await client.call_tool("call_tool", call))
            return found, answers

    found, answers = anyio.run(talk)
    assert "hello post" in answers and "hello Post-Office" in answers
    assert [tool for tool in ("Post-Office/talk", "post/echo", "clerk/order") if tool not in found] == [], found
    assert "post/die" not in found
    assert not (tmp_path / ".quartermaster").exists()


def test_a_file_is_built_with_the_rules_of_sources(file: Path, tmp_path: Path) -> None:
    build = ("build", file, "--encoder", "none")
    refused = called(tmp_path, *build)
    assert (
        refused.returncode == 2
        and "--allow-commands" in refused.stderr
        and "from the environment KEY" in refused.stderr
    )
    variables = {"KEY": SECRET, "SCRIPT": str(PLAIN)}
    stopped = called(tmp_path, *build, "--allow-commands", **variables)
    assert stopped.returncode == 3 and "2 of 5 sources cannot be read" in stopped.stderr
    allowed = {**variables, "QUARTERMASTER_PUBLISH__MAX_SKIPPED_SHARE": "0.5"}
    built = called(tmp_path, *build, "--skip-unreadable", "--json", **allowed)
    report = json.loads(built.stdout)
    assert built.returncode == 0 and list(report["coverage"]) == ["Post Office", "post", "clerk"]
    said = " ".join(built.stderr.split())
    assert "left out: ['off']" in said
    assert "degraded: 2 sources could not be read: gone, old" in said
    assert "the MCP server 'old' cannot be used: the deprecated HTTP+SSE transport" in stopped.stderr
    files = [path for path in (tmp_path / ".quartermaster").rglob("*") if path.is_file()]
    kept = b"".join(path.read_bytes() for path in files)
    assert SECRET.encode() not in kept and SECRET not in built.stdout + stopped.stderr.replace(f'"{SECRET}"', "")
    # What the file says of a server counts when its tools are called, too.
    file.write_text(file.read_text(encoding="utf-8").replace('"${KEY}"', '"${OTHER}"'), encoding="utf-8")
    asked = called(tmp_path, *build, "--skip-unreadable", **allowed)
    assert asked.returncode == 2 and "from the environment OTHER" in asked.stderr


def test_its_servers_are_called_as_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KEY", SECRET)
    mail: dict[str, Any] = {
        "command": "run",
        "args": ["-k", "${KEY}"],
        "max_tools": 7,
        "may_ask": False,
        "protocol": "2025",
        "timeout_s": 5,
    }
    rest = {"unset": {"command": "x", "env": {"K": "${UNSET}"}}, "bound": {"command": "x", "max_tools": 0}}
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"mail": mail, **rest}}), encoding="utf-8")
    with pytest.raises(SettingsInvalid, match="nobody has allowed here yet"):
        catalog_upstreams(path, allow_commands=False)
    (upstream,) = catalog_upstreams(path, allow_commands=True)
    assert (upstream.name, upstream.provider, upstream.folder) == ("mail", "mail", tmp_path)
    assert upstream.command == ("run", "-k", SECRET) and SECRET not in repr(upstream) + caplog.text
    assert (upstream.max_tools, upstream.may_ask, upstream.timeout_s, upstream.protocol) == (7, False, 5, "2025")
    assert "UNSET, which is not set" in caplog.text and "'bound': max_tools is 0, it must be" in caplog.text
    (tmp_path / "list.json").write_text("[]", encoding="utf-8")
    with pytest.raises(SettingsInvalid, match=r"list\.json is not a file of MCP servers"):
        catalog_upstreams(tmp_path / "list.json", allow_commands=True)


def test_where_no_server_lists_a_tool_nothing_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"gone": {"command": "no-such-mcp-server"}}}), encoding="utf-8")
    ended = called(tmp_path, "serve", "mcp", "--upstream", path, "--allow-commands")
    assert ended.returncode == 3 and "none of the MCP servers lists a tool" in ended.stderr


def test_a_server_that_hangs_does_not_keep_the_others_waiting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from quartermaster.serving.mcp import list_tools, upstreams

    monkeypatch.setattr(upstreams, "_FIRST_LISTS_S", 0.5)
    listed = anyio.run(list_tools, [plain("silent", 60.0, name="slow"), plain()])
    assert list(listed) == ["plain"] and "takes them long: slow" in caplog.text
