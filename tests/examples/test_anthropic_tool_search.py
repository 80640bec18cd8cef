"""examples/anthropic_tool_search.py: a loop that searches by Anthropic's tool references."""

import re
from typing import Any

import pytest

pytest.importorskip("anthropic", reason="anthropic is not installed")

from tests.examples.conftest import Run
from tests.support.places import ROOT
from tests.support.providers.anthropic_messages import MessagesServer, Seen, call, say

PAGE = ROOT / "docs" / "integrations" / "anthropic.md"


def forget_the_place_first(seen: Seen) -> list[dict[str, Any]]:
    """Search, call what was found without its arguments, then with them, and answer."""
    turn = len(seen.body["messages"]) // 2
    blocks = [
        call("search_tools", {"request": "what will the weather be like"}),
        call("forecast", {}),
        call("forecast", {"place": "Texel"}),
        say("No rain, and 14 knots of wind."),
    ]
    return [blocks[turn]]


def test_the_page_shows_what_the_example_prints(run: Run) -> None:
    with MessagesServer(forget_the_place_first) as server:
        printed = run("anthropic_tool_search.py", ANTHROPIC_BASE_URL=server.base_url, ANTHROPIC_API_KEY="sk-loopback")
    assert server.refused == []
    assert [sorted(seen.tools) for seen in server.seen[:2]] == [
        ["note", "search_tools"],
        ["forecast", "note", "search_tools"],
    ]
    shown = re.search(r"```text\n(asked .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert shown and printed == shown[1]
