"""examples/mcp_client: a client of `quartermaster serve mcp`, over a real server of its own."""

import re

from tests.examples.conftest import Run


def test_the_client_finds_describes_and_calls_tools_of_one_session(run: Run) -> None:
    printed = run("mcp_client/client.py")
    assert printed.startswith("3 tools in ")
    assert "the server offers find_tools, describe_tool, call_tool" in printed
    assert "    notes/write_note(text: string) — Write a note down." in printed
    assert re.search(r'describe_tool.*\n +\{"tool_id":"notes/write_note",.*"required":\["text"\]', printed)
    # The upstream was started once and kept: the note that one call wrote is there for the next.
    assert "    note 1 is written" in printed
    assert printed.splitlines()[-1] == "    The milk is out."
