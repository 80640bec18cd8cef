"""The snapshot whose files and answers are fuzzed: small, yet calibrated, with duplicates and German phrases."""

import json
from pathlib import Path
from typing import Any

from tests.support.factories import TOOLS, expansion_row
from tests.support.small_encoder import save

_TEAMS = ("north", "south", "east", "west", "sea")  # 40 tools: fewer are not calibrated


def build_snapshot(folder: Path) -> Path:
    """Build the snapshot in a folder and return its path."""
    from pipeline.build import build
    from pipeline.settings import load

    catalog = folder / "office"
    catalog.mkdir(parents=True)
    expansions = [_expansion(tool, team) for team in _TEAMS for tool in TOOLS]
    uses = [{"request": f"please {row['user_phrases'][0]}", "tools": [row["id"]]} for row in expansions]
    tools = [_tool(tool, team) for team in _TEAMS for tool in TOOLS]
    duplicate = {**tools[0], "id": "mirror/list_charges", "provider": "mirror"}
    for name, rows in (("tools", [*tools, duplicate]), ("expansions", expansions), ("usage", uses)):
        (catalog / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    settings = {
        "vectors": {"encoder": str(save(folder / "encoder"))},
        "tuning": {"usage": str(catalog / "usage.jsonl")},
    }
    return build(load(catalog, settings, environment={}), workspace=folder / "workspace").snapshot


def _tool(tool: dict[str, Any], team: str) -> dict[str, Any]:
    """Return a tool of one team; the first team's have their plain names."""
    if team == _TEAMS[0]:
        return tool
    name = f"{tool['name']}_{team}"
    description = f"For the {team} team: {tool['description']}"
    return {**tool, "id": f"{tool['provider']}/{name}", "name": name, "description": description}


def _expansion(tool: dict[str, Any], team: str) -> dict[str, Any]:
    row = expansion_row(tool)
    phrases = [f"{phrase} of the {team} team" for phrase in row["user_phrases"]]
    german = {"de": [f"{tool['name']} für {team} aufrufen"]}
    return {
        **row,
        "id": _tool(tool, team)["id"],
        "user_phrases": [*phrases, f"{team} {phrases[0]}"],
        "translations": german,
    }
