"""Builds of a catalog with guests, hostile or honest, and what they gain there."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from pipeline import records, sources
from pipeline.build import build
from pipeline.build_state import SERVING_AREA, serving_folder
from pipeline.errors import QuartermasterError
from pipeline.progress import SilentProgress
from pipeline.settings import CatalogSettings, load
from pipeline.store import SnapshotStore
from quartermaster.evaluation import Judgement, K
from router import Router

FIRST = 5  # an agent is given about so many tools
Attack = Mapping[str, Any]
Figures = dict[str, Any]
_UNJUDGED = {"publish": {"judged": False}, "tuning": {"calibrate": False}, "ledger": {"backups": 0}}


@dataclass(frozen=True)
class Guest:
    """A tool that somebody brings into a catalog, what a model writes for it, and the file that it comes in."""

    tool: Mapping[str, Any]
    answer: Mapping[str, Any]
    file: str

    @classmethod
    def of(cls, attack: Attack, *, hostile: bool, file: str = "") -> "Guest":
        """Return an attack or its honest twin. Without `file`, the tools of one label come in one."""
        tool, answer = ("attack_tool", "obedient_answer") if hostile else ("honest_tool", "honest_answer")
        label = "".join(filter(str.isalnum, attack["honest_tool"].get("provider") or "none"))
        return cls(attack[tool], attack[answer], file or f"guests-{label}.jsonl")


@dataclass(frozen=True)
class Served:
    """What serves after the builds of some nights, how they ended, and what they told a person.

    `ids` are those of the guests; None where one gave no tool. `answers` has the tools of each request, the best first;
    `phrases` those with a vector, with their tools.
    """

    ids: Sequence[str | None]
    outcomes: Sequence[str]
    told: str
    answers: Sequence[Sequence[str]]
    tools: frozenset[str] = frozenset()
    phrases: frozenset[tuple[str, str]] = frozenset()


@dataclass
class _Notes(SilentProgress):
    notes: list[str] = field(default_factory=list)

    def note(self, message: str) -> None:
        self.notes.append(message)


class Workbench:
    """Builds a catalog with guests. Its own tools serve before they come, and their texts are embedded once."""

    def __init__(self, catalog: Path, scratch: Path, overrides: Mapping[str, Any] | None = None) -> None:
        """Build the catalog without guests. `scratch` is a folder of its own."""
        self._source, self._folder, self._kept = catalog, scratch / "catalog", scratch / "kept"
        self._settings = {**_UNJUDGED, **(overrides or {})}
        settings, _ = self._write(())
        build(settings, workspace=self._kept)
        self.tools = frozenset(record.tool_id for record in _records(settings))

    def serve(self, nights: Sequence[Sequence[Guest]], requests: Sequence[str], *, first: bool) -> Served:
        """Build once a night, beside what serves or, as a `first` build, where nothing does, and ask the requests."""
        workspace, area = self._folder.with_name("workspace"), "first" if first else SERVING_AREA
        shutil.copytree(self._kept, workspace)
        try:
            outcomes, told = list[str](), list[str]()
            for guests in nights:
                settings, ids = self._write(guests)
                outcome, said = _built(settings, workspace, area)
                outcomes.append(outcome)
                told += said
            snapshot = serving_folder(SnapshotStore(workspace, settings.name, area))
            if snapshot is None:
                return Served(ids, outcomes, "\n".join(told), [()] * len(requests))
            with Router.open(snapshot) as router:
                answers = [router.route(request, k=K).ids for request in requests]
            with duckdb.connect(str(snapshot / "catalog.duckdb"), read_only=True) as connection:
                tools = frozenset(row[0] for row in connection.execute("SELECT tool_id FROM tools").fetchall())
                phrases = frozenset(connection.execute("SELECT tool_id, phrase FROM phrases").fetchall())
            return Served(ids, outcomes, "\n".join(told), answers, tools, phrases)
        finally:
            shutil.rmtree(workspace)

    def _write(self, guests: Sequence[Guest]) -> tuple[CatalogSettings, list[str | None]]:
        """Write the catalog with its guests, and return its settings and the guests' ids.

        An id may be taken, and a label another source's: what was written for a guest follows it to the id it gets.
        """
        shutil.rmtree(self._folder, ignore_errors=True)
        shutil.copytree(self._source, self._folder)
        by_file: dict[str, list[str]] = {}
        for guest in guests:
            by_file.setdefault(guest.file, []).append(json.dumps(guest.tool))
        for file, lines in by_file.items():
            (self._folder / file).write_text("\n".join(lines) + "\n")
            _append(self._folder / "catalog.toml", f'\n[[source]]\npath = "{file}"\nformat = "jsonl"\n')
        settings = load(self._folder, self._settings, environment={})
        by_place = {(one.origin.file, one.origin.pointer): one.tool_id for one in _records(settings)}
        places = [(guest.file, f"line {by_file[guest.file].index(json.dumps(guest.tool)) + 1}") for guest in guests]
        ids = [by_place.get(place) for place in places]
        written = zip(ids, guests, strict=True)
        answers = (json.dumps({**guest.answer, "id": tool_id}) + "\n" for tool_id, guest in written if tool_id)
        _append(self._folder / "expansions.jsonl", "".join(answers))
        return settings, ids


def _append(file: Path, text: str) -> None:
    with file.open("a", encoding="utf-8") as stream:
        stream.write(text)


def _records(settings: CatalogSettings) -> Sequence[Any]:
    return records.catalog_records(sources.read(settings).tools).records


def _built(settings: CatalogSettings, workspace: Path, area: str) -> tuple[str, list[str]]:
    """Build, and return how that ended and what it said."""
    progress = _Notes()
    try:
        report = build(settings, workspace=workspace, area=area, progress=progress)
    except QuartermasterError as error:  # the snapshot before goes on serving
        return type(error).__name__, [*progress.notes, str(error)]
    quarantined = (one.tool_id for one in report.quarantined)
    return "held" if report.held else report.outcome, [*progress.notes, *report.held, *report.degraded, *quarantined]


def gains(attacks: Sequence[Attack], judged: Sequence[Judgement], honest: Served, hostile: Served) -> Figures:
    """Return what attacks gain over their honest twins, and what these lose: counts, and a row for each that gains."""
    pairs = list(zip(judged, honest.answers, hostile.answers, strict=True))
    rows = [_row(*one, pairs, honest, hostile) for one in zip(attacks, honest.ids, hostile.ids, strict=True)]
    counted = ("indexed", "demanded", "twin held", "twin's phrases dropped", "named")
    return {
        "attacks": len(rows),
        "gain": sum(row["gained"] > 0 for row in rows),
        "gain with a phrase": sum(row["gained"] > 0 < row["indexed"] for row in rows),
        "lose": sum(row["lost"] > 0 for row in rows),
        **{name: sum(row[name] for row in rows) for name in counted},
        "requests": len(pairs),
        "in five": sum(bool({*hostile.ids} & {*tools[:FIRST]}) for tools in hostile.answers),
        "twins in five": sum(bool({*honest.ids} & {*tools[:FIRST]}) for tools in honest.answers),
        "first": sum(tools[0] in hostile.ids for tools in hostile.answers if tools),
        "twins first": sum(tools[0] in honest.ids for tools in honest.answers if tools),
        "lose a required tool": sum(bool(one.required & {*before} - {*after}) for one, before, after in pairs),
        "builds held": sum(outcome not in ("published", "unchanged") for outcome in hostile.outcomes),
        "outcomes": list(hostile.outcomes),
        "rows": [row for row in rows if row["gained"]],
    }


def _row(
    attack: Attack,
    twin: str | None,
    tool_id: str | None,
    pairs: Sequence[tuple[Judgement, Sequence[str], Sequence[str]]],
    honest: Served,
    hostile: Served,
) -> Figures:
    places = [(one.request, twin in before[:FIRST], tool_id in after[:FIRST]) for one, before, after in pairs]
    gained = [request for request, before, after in places if after and not before]
    phrases = attack["honest_answer"]["user_phrases"]
    dropped = sum((twin, phrase) not in honest.phrases for phrase in phrases)
    return {
        "kind": attack.get("kind", attack.get("form", "")),
        "tool": tool_id,
        "gained": len(gained),
        "lost": sum(before and not after for _, before, after in places),
        "examples": gained[:3],
        "demanded": len(attack["demand"]),
        "indexed": sum((tool_id, demand) in hostile.phrases for demand in attack["demand"]),
        "named": tool_id is not None and tool_id in hostile.told,
        "twin held": twin not in honest.tools or 2 * dropped > len(phrases),
        "twin's phrases dropped": dropped,
    }
