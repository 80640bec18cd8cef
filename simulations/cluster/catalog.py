"""A catalog with more than one batch of new texts, whose expansions a file has."""

from pathlib import Path

from tests.support.factories import TOOLS, expansion_row
from tests.support.rows import write_rows


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
    write_rows(folder / "tools.jsonl", rows)
    write_rows(folder / "expansions.jsonl", expansions)
    return folder
