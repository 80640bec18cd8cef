"""Phrases that a person writes, on a terminal or as JSON: added, checked, listed."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from pipeline.enrichment.by_hand import HandPhrases
from pipeline.inspection.reading import Inspection
from pipeline.phrase_checks.screen import Screen
from pipeline.records import Catalog, record_hash
from pipeline.sentences import counted
from pipeline.settings import load
from pipeline.settings.files import PHRASES_FILE
from pipeline.store import SnapshotStore
from quartermaster.output.formatting import make_table
from quartermaster.output.inspection import show_rows
from quartermaster.output.terminal import out, print_err, print_json, print_out
from router import Router
from router.errors import SettingsInvalid
from router.expansion import Expansion
from router.snapshot.phrases import cleaned_phrases

# A dropped text stands only among the verdicts; its writer is not kept there.
_LISTED = """
    SELECT tool_id, phrase, source, consequence, check_name, detail FROM phrases
    FULL JOIN (
        SELECT * RENAME (text AS phrase) FROM verdicts
        WHERE field IN ('user_phrases', 'when_to_use') OR field LIKE 'translations.%'
    ) USING (tool_id, phrase)
    {} ORDER BY tool_id, consequence, source, phrase
"""


def add_phrases(place: Path, workspace: Path, tool_id: str, texts: Sequence[str]) -> None:
    """Add a line to the file beside a catalog.

    Raises SettingsInvalid for a tool that the snapshot that serves does not have, and for phrases that are none.
    """
    settings, phrases = load(place), cleaned_phrases(tool_id, texts)
    if not phrases or any(" ".join(text.split()) not in phrases for text in texts):
        raise SettingsInvalid(f"the phrases of {tool_id!r} are {list(texts)}: give texts of 1 to 200 characters")
    if (folder := SnapshotStore(workspace, settings.name).folder).is_dir():
        with Inspection.open(folder) as inspection:
            inspection.tool(tool_id)
    file = settings.folder / PHRASES_FILE
    before = file.read_text(encoding="utf-8") if file.is_file() else ""
    line = json.dumps({"id": tool_id, "phrases": phrases}, ensure_ascii=False)
    with file.open("a", encoding="utf-8") as lines:
        lines.write("\n" * (bool(before) and not before.endswith("\n")) + line + "\n")
    print_out(f"added {counted(len(phrases), 'phrase')} of {tool_id} to {file}; the next build indexes them")


def check_phrases(place: Path, workspace: Path, tool_id: str | None, *, as_json: bool) -> None:
    """Print what the checks say of each phrase of the file, and its tool's rank."""
    settings = load(place)
    router = Router.open(SnapshotStore(workspace, settings.name).folder)
    records = {record.tool_id: record for record in router.tools}
    hashes = {one: record_hash(record) for one, record in records.items()}
    found = HandPhrases.read(settings.folder, Catalog(tuple(records.values()), hashes, ()))
    screen, rows = Screen([*records.values()], settings.enrichment.languages), []
    for tool, texts in sorted(found.phrases.items()):
        if tool_id in (None, tool):
            verdicts = {verdict.text: verdict for verdict in screen(records[tool], Expansion("", texts))[1]}
            for text in texts:
                check, detail = (verdicts[text].check, verdicts[text].detail) if text in verdicts else ("", "")
                rows.append((tool, text, check, detail, router.diagnose(text, tool).rank))
    columns = ("tool", "phrase", "check", "detail", "rank")
    if as_json:
        unusable = [{**asdict(one.origin), "reason": one.reason} for one in found.rejected]
        print_json({"phrases": [dict(zip(columns, row, strict=True)) for row in rows], "rejected": unusable})
        return
    for one in found.rejected:
        print_err(f"{one.origin.file} {one.origin.pointer}: {one.reason}")
    out.print(make_table(columns, [(*row[:4], str(row[4] or "–")) for row in rows]))


def show_phrases(snapshot: Path, tool_id: str | None, limit: int | None, *, as_json: bool) -> None:
    """Print the phrases of a snapshot with who wrote each, and what was dropped or noted."""
    of_tool = "" if tool_id is None else f"WHERE tool_id = '{tool_id.replace(chr(39), chr(39) * 2)}'"
    with Inspection.open(snapshot) as inspection:
        if tool_id is not None:
            inspection.tool(tool_id)
        sql = _LISTED.format(of_tool)
        show_rows(inspection, table=None, against=None, sql=sql, limit=limit, as_json=as_json)
