"""A catalog with more than one batch of new texts, whose expansions a file has."""

import json
from pathlib import Path

from tests.support.factories import TOOLS, expansion_row


def write_catalog(folder: Path, tools: int = 240) -> Path:
    """Write so many tools, each of another office, with four phrases."""
    folder.mkdir(parents=True)
    rows, expansions = [], []
    for number in range(tools):
        tool, office = TOOLS[number % len(TOOLS)], number // len(TOOLS)
        provider = f"{tool['provider']}{office}"
        row = {**tool, "id": f"{provider}/{tool['name']}", "provider": provider}
        rows.append({**row, "description": f"{tool['description']} For the office {office}."})
        written = expansion_row(tool)
        phrases = [f"{phrase} in office {office}" for phrase in written["user_phrases"]]
        phrases.append(f"office {office} needs {tool['name']}")
        expansions.append({**written, "id": row["id"], "user_phrases": phrases})
    for name, lines in (("tools", rows), ("expansions", expansions)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder
