"""Agents of packages that do not install beside the tests' own: over a loopback model and a real MCP server.

`make test-google-adk` and `make test-claude-agent-sdk` each make an environment for one and run this file.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.build import build
from pipeline.settings import load
from tests.support.documents import blocks
from tests.support.places import ROOT
from tests.support.providers import claude, gemini
from tests.support.providers.loopback import Loopback

PAGES = ROOT / "docs" / "integrations"
# Nothing but the model's server is reached, and that is on loopback.
QUIET = "DISABLE_TELEMETRY DISABLE_ERROR_REPORTING DISABLE_AUTOUPDATER CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC".split()


def printed_by(name: str, module: str, variable: str, folder: Path, **variables: str) -> str:
    """Return what an agent prints that finds and calls tools of `examples/mcp_client` through the MCP server.

    It runs by the Python that a variable names, else by this one. Skips the test where neither has the module.
    """
    if not (python := os.environ.get(variable)):
        pytest.importorskip(module, reason=f"{module} is not installed here, and {variable} names no Python with it")
    catalog = shutil.copytree(ROOT / "examples" / "mcp_client", folder / "mcp_client")
    build(load(catalog), workspace=folder / "workspace")
    serve = [sys.executable, "-m", "quartermaster", "serve", "mcp", "--workspace", str(folder / "workspace")]
    serve += ["--catalog", "notes", "--catalog-folder", str(catalog), "--allow-commands"]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [python or sys.executable, str(ROOT / "examples" / name), "--serve", shlex.join(serve)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PATH": path, "HOME": str(folder), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", **variables},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr or done.stdout
    return done.stdout


def test_the_agent_of_claudes_sdk_finds_and_calls_a_tool_through_the_mcp_server(tmp_path: Path) -> None:
    with Loopback(claude.answer) as api:
        reached = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "sk-loopback", **dict.fromkeys(QUIET, "1")}
        printed = printed_by("claude_agent.py", "claude_agent_sdk", "CLAUDE_AGENT_SDK_PYTHON", tmp_path, **reached)
    assert api.errors == []
    assert printed in [block.text for block in blocks("text", page=PAGES / "claude_agent_sdk.md")]
    offered = [{tool["name"] for tool in request.body["tools"]} for request in api.requests]
    ours = {claude.PREFIX + name for name in ("find_tools", "describe_tool", "call_tool")}
    assert len(offered) == 3  # search, call, answer
    assert all(ours <= names for names in offered)
    assert not {"Bash", "Read", "Write"} & set.union(*offered)


def test_the_agent_of_googles_adk_finds_and_calls_a_tool_through_the_mcp_server(tmp_path: Path) -> None:
    with Loopback(gemini.answer) as api:
        reached = {"GOOGLE_GEMINI_BASE_URL": api.url, "GOOGLE_API_KEY": "loopback"}
        printed = printed_by("google_adk_agent.py", "google.adk", "GOOGLE_ADK_PYTHON", tmp_path, **reached)
    assert api.errors == []
    assert printed in [block.text for block in blocks("text", page=PAGES / "google_adk.md")]
    assert [request.path.rpartition("/")[2] for request in api.requests] == ["gemini-flash-latest:generateContent"] * 3
