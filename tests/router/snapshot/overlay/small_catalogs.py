"""Small catalogs that differ by a tool or two, built within a second, without an encoder and without torch."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.build import build
from pipeline.settings import load
from router.record import ToolRecord
from tests.support.factories import TOOLS, expansion_row, make_record
from tests.support.quick import QUICK


def built(folder: Path, tools: Sequence[dict[str, Any]] = TOOLS) -> Path:
    """Build the catalog "office" of some tools, with the expansions that there are, and return its snapshot."""
    catalog = folder / "office"
    catalog.mkdir(parents=True)
    known = {tool["id"] for tool in TOOLS}
    _write(catalog / "tools.jsonl", tools)
    _write(catalog / "expansions.jsonl", [expansion_row(tool) for tool in tools if tool["id"] in known])
    build(load(catalog, QUICK, environment={}), workspace=folder)
    store = folder / "snapshots" / "office"
    return store / (store / "CURRENT").read_text(encoding="utf-8").strip()


def record(name: str, provider: str | None = "zoom", description: str = "", **fields: Any) -> ToolRecord:
    """Return the record of a tool to register at run time."""
    return make_record(name, provider, description=description or f"Does {name}.", **fields)


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
