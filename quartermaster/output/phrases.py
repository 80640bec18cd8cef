"""Phrases that a person writes, on a terminal or as JSON: added, checked, listed."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import asdict

from pipeline.enrichment.by_hand import HandPhrases
from pipeline.inspection.reading import Inspection
from pipeline.inspection.results import ResultRows
from pipeline.phrase_checks.screen import Screen
from pipeline.records import Catalog, record_hash
from pipeline.sentences import counted
from pipeline.settings import load
from pipeline.settings.files import PHRASES_FILE
from pipeline.store import SnapshotStore
from quartermaster.output.formatting import layout, make_table
from quartermaster.output.inspection import show_rows
from quartermaster.output.terminal import out, print_err, print_json, print_out
from quartermaster.serving.suggestions import Suggestions
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
    if not (known := line in before.splitlines()):
        with file.open("a", encoding="utf-8") as lines:
            lines.write("\n" * (bool(before) and not before.endswith("\n")) + line + "\n")
    done = f"{file} has" if known else f"added to {file}:"
    then = f"quartermaster build {shlex.quote(str(place))}"
    print_out(f"{done} {counted(len(phrases), 'phrase')} of {tool_id}; the next build indexes them: {then}")


def check_phrases(place: Path, workspace: Path, tool_id: str | None, *, as_json: bool) -> None:
    """Print what the checks say of each phrase of the file, and its tool's rank."""
    settings = load(place)
    router = Router.open(SnapshotStore(workspace, settings.name).folder)
    records = {record.tool_id: record for record in router.tools}
    hashes = {one: record_hash(record) for one, record in records.items()}
    found = HandPhrases.read(settings.folder, Catalog(tuple(records.values()), hashes, ()))
    wanted = {tool: texts for tool, texts in found.phrases.items() if tool_id in (None, tool)}
    rows = _checked(router, settings.enrichment.languages, wanted)
    columns = ("tool", "phrase", "check", "detail", "rank")
    if as_json:
        unusable = [{**asdict(one.origin), "reason": one.reason} for one in found.rejected]
        print_json({"phrases": [dict(zip(columns, row, strict=True)) for row in rows], "rejected": unusable})
        return
    for one in found.rejected:
        print_err(f"{one.origin.file} {one.origin.pointer}: {one.reason}")
    out.print(make_table(columns, [(*row[:4], str(row[4] or "–")) for row in rows]))


def _checked(
    router: Router, languages: Sequence[str], phrases: Mapping[str, Sequence[str]]
) -> list[tuple[str, str, str, str, int | None]]:
    """Return each phrase of tools that serve, by id, with what the checks say of it, and its tool's rank for it."""
    records = {record.tool_id: record for record in router.tools}
    screen, rows = Screen([*records.values()], languages), []
    for tool, texts in sorted(phrases.items()):
        verdicts = {verdict.text: verdict for verdict in screen(records[tool], Expansion("", tuple(texts)))[1]}
        for text in texts:
            check, detail = (verdicts[text].check, verdicts[text].detail) if text in verdicts else ("", "")
            rows.append((tool, text, check, detail, router.diagnose(text, tool).rank))
    return rows


def show_suggestions(file: Path, router: Router, tool_id: str | None, *, as_json: bool) -> None:
    """Print the phrases that visitors suggest: who did, what the checks say of each, and its tool's rank."""
    waiting = Suggestions(file).read(tool_id)
    by_tool: dict[str, list[str]] = {}
    for one in waiting:
        if router.record(one.id) is not None:
            by_tool.setdefault(one.id, []).append(one.phrase)
    said = {row[:2]: row[2:] for row in _checked(router, router.manifest.languages, by_tool)}
    gone = ("", "no such tool serves", None)
    columns = ("tool", "phrase", "by", "at", "check", "detail", "rank")
    rows = [(one.id, one.phrase, one.by, one.at, *said.get((one.id, one.phrase), gone)) for one in waiting]
    if as_json:
        print_json({"suggested": [dict(zip(columns, row, strict=True)) for row in rows]})
        return
    out.print(layout(ResultRows(columns, tuple(rows)), out.width))


def take_up(file: Path, place: Path, workspace: Path, tool_id: str, texts: Sequence[str]) -> None:
    """Move a tool's suggestions, or those of them with these texts, to the file beside a catalog.

    Raises SettingsInvalid where the file has none of them, and as `add_phrases`.
    """
    suggestions = Suggestions(file)
    phrases = [one.phrase for one in suggestions.read(tool_id) if not texts or one.phrase in texts]
    if not phrases or not {*texts} <= {*phrases}:
        raise SettingsInvalid(
            f"{file} has no such suggestion for {tool_id!r}: see quartermaster phrases list --suggested"
        )
    add_phrases(place, workspace, tool_id, phrases)
    suggestions.take(lambda one: one.id == tool_id and one.phrase in phrases)


def show_phrases(snapshot: Path, tool_id: str | None, limit: int | None, *, as_json: bool) -> None:
    """Print the phrases of a snapshot with who wrote each, and what was dropped or noted."""
    of_tool = "" if tool_id is None else f"WHERE tool_id = '{tool_id.replace(chr(39), chr(39) * 2)}'"
    with Inspection.open(snapshot) as inspection:
        if tool_id is not None:
            inspection.tool(tool_id)
        sql = _LISTED.format(of_tool)
        show_rows(inspection, table=None, against=None, sql=sql, limit=limit, as_json=as_json)
