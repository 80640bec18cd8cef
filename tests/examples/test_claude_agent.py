"""examples/claude_agent.py: the Claude Agent SDK and its program, over a loopback model and a real MCP server.

`make test-claude-agent-sdk` makes an environment for it and runs this file.
"""

from pathlib import Path

from tests.support.documents import blocks
from tests.support.places import ROOT
from tests.support.providers import claude
from tests.support.providers.loopback import Loopback
from tests.support.separate import python_with, run_example, serving_notes

# Nothing but the model's server is reached, and that is on loopback.
QUIET = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
}
PAGE = ROOT / "docs" / "integrations" / "claude_agent_sdk.md"


def test_the_agent_finds_and_calls_a_tool_through_the_mcp_server(tmp_path: Path) -> None:
    python = python_with("claude_agent_sdk", "CLAUDE_AGENT_SDK_PYTHON")
    serve = serving_notes(tmp_path)
    with Loopback(claude.answer) as api:
        reached = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "sk-loopback", **QUIET}
        printed = run_example(python, "claude_agent.py", "--serve", serve, folder=tmp_path, **reached)
    assert api.errors == []
    assert printed in [block.text for block in blocks("text", page=PAGE)]
    offered = [{tool["name"] for tool in request.body["tools"]} for request in api.requests]
    ours = {claude.PREFIX + name for name in ("find_tools", "describe_tool", "call_tool")}
    assert len(offered) == 3  # search, call, answer
    assert all(ours <= names for names in offered)
    assert not {"Bash", "Read", "Write"} & set.union(*offered)
