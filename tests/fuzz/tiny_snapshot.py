"""The snapshot whose files and answers are fuzzed: eight tools, vectors, calibration, past requests, two languages."""

import json
from pathlib import Path

from tests.support.factories import TOOLS, expansion_row
from tests.support.small_encoder import save


def build_snapshot(folder: Path) -> Path:
    """Build the snapshot in a folder and return its path."""
    from pipeline.build import build
    from pipeline.settings import load

    catalog = folder / "office"
    catalog.mkdir(parents=True)
    rows = [{**expansion_row(tool), "translations": {"de": [f"Bitte {tool['name']} aufrufen"]}} for tool in TOOLS]
    uses = [{"request": f"please {row['user_phrases'][0]}", "tools": [row["id"]]} for row in rows]
    tools = [*TOOLS, {**TOOLS[0], "id": "mirror/list_charges", "provider": "mirror"}]  # a duplicate
    for name, lines in (("tools.jsonl", tools), ("expansions.jsonl", rows), ("usage.jsonl", uses)):
        (catalog / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    settings = {"vectors": {"encoder": str(save(folder / "encoder"))}, "tuning": {"usage": str(catalog / "usage.jsonl")}}
    return build(load(catalog, settings, environment={}), workspace=folder / "workspace").snapshot
