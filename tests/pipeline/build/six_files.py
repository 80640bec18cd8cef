"""A catalog of six files, of which some cannot be read."""

import json
from pathlib import Path
from typing import Any

from tests.support.quick import QUICK

SIX = ("mail", "files", "chat", "notes", "tickets", "calendar")
# What cannot be read is left out, though its last known records could stand in.
SKIPPING: dict[str, dict[str, Any]] = {**QUICK, "sources": {"skip_unreadable": True, "max_age": 0}}


def write(place: Path) -> Path:
    """Write the files, of two tools each, and one that holds none; return their folder."""
    folder = place / "office"
    folder.mkdir()
    for name in SIX:
        tools = [{"name": f"{verb}_{name}", "description": f"{verb} {name}."} for verb in ("read", "send")]
        (folder / f"{name}.json").write_text(json.dumps(tools), encoding="utf-8")
    (folder / "later.json").write_text('{"tools": []}', encoding="utf-8")
    return folder


def spoil(folder: Path, *names: str) -> None:
    """Leave these files unreadable."""
    for name in names:
        (folder / f"{name}.json").write_text("{bad", encoding="utf-8")
