"""docs/integrations/anthropic.md: the bytes that it tells are those of the demo."""

import json
import re
from pathlib import Path
from typing import Any

from router import Router
from router.adapters.anthropic import AnthropicToolSearch
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
