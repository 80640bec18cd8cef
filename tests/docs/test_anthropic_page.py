"""docs/integrations/anthropic.md: what it tells of the demo holds."""

import json
import re
from pathlib import Path
from typing import Any

from router import Router, Selection
from router.adapters.anthropic import NOTHING, AnthropicToolSearch
from tests.support.places import ROOT


def kilobytes(tools: list[dict[str, Any]]) -> float:
    return len(json.dumps(tools, ensure_ascii=False).encode()) / 1_000


def test_the_sizes_of_requests_are_those_of_the_demo(reader: Path) -> None:
    page = (ROOT / "docs" / "integrations" / "anthropic.md").read_text(encoding="utf-8")
    with Router.open(reader / ".quartermaster" / "snapshots" / "demo") as router:
        search = AnthropicToolSearch(router)
        assert f"{len(router)} tools (the demo)" in page
        first, catalog = kilobytes(search.tools([])), kilobytes(search.catalog())
    rows = dict(re.findall(r"^\| (the first request|`catalog\(\)`)[^|]*\| ([\d.]+) KB", page, re.MULTILINE))
    assert rows == {"the first request": f"{first:.1f}", "`catalog()`": f"{catalog:.0f}"}


def test_a_request_that_no_tool_fits_is_told_so_if_the_selection_asks_for_it(reader: Path) -> None:
    song, selection = "sing me a song about the moon", Selection(empty_if_none_fits=True)
    use = {"type": "tool_use", "id": "toolu_1", "name": "search_tools", "input": {"request": song}}
    with Router.open(reader / ".quartermaster" / "snapshots" / "demo") as router:
        (told,) = AnthropicToolSearch(router, selection=selection).answers([use], router.call)
        (loaded,) = AnthropicToolSearch(router).answers([use], router.call)
        doubt = router.route(song, k=5, selection=selection).doubt
    assert "no tool fits this request" in doubt
    assert told == {"type": "tool_result", "tool_use_id": "toolu_1", "content": f"{doubt} {NOTHING}"}
    assert [reference["type"] for reference in loaded["content"]] == ["tool_reference"] * 5
