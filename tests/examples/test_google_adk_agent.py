"""examples/google_adk_agent.py: Google's ADK over Gemini's API on loopback and a real MCP server.

`make test-google-adk` makes an environment for it and runs this file.
"""

from pathlib import Path

from tests.support.documents import blocks
from tests.support.places import ROOT
from tests.support.providers import gemini
from tests.support.providers.loopback import Loopback
from tests.support.separate import python_with, run_example, serving_notes

PAGE = ROOT / "docs" / "integrations" / "google_adk.md"


def test_the_agent_finds_and_calls_a_tool_through_the_mcp_server(tmp_path: Path) -> None:
    python = python_with("google.adk", "GOOGLE_ADK_PYTHON")
    serve = serving_notes(tmp_path)
    with Loopback(gemini.answer) as api:
        reached = {"GOOGLE_GEMINI_BASE_URL": api.url, "GOOGLE_API_KEY": "loopback"}
        printed = run_example(python, "google_adk_agent.py", "--serve", serve, folder=tmp_path, **reached)
    assert api.errors == []
    assert printed in [block.text for block in blocks("text", page=PAGE)]
    assert [request.path.rpartition("/")[2] for request in api.requests] == ["gemini-flash-latest:generateContent"] * 3
