"""Builds of a catalog with guests, hostile or honest, and what they gain there."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from pipeline import records, sources
from pipeline.build import build
from pipeline.build_state import SERVING_AREA, serving_folder
from pipeline.errors import QuartermasterError
from pipeline.monitoring.report import BuildReport
from pipeline.progress import SilentProgress
from pipeline.settings import CatalogSettings, load
from pipeline.store import SnapshotStore
from quartermaster.evaluation import Judgement, K
from router import Router

FIRST = 5  # an agent is given about so many tools
Attack = Mapping[str, Any]
_UNJUDGED = {"publish": {"judged": False}, "tuning": {"calibrate": False}, "ledger": {"backups": 0}}


@dataclass(frozen=True)
class Guest:
    """A tool that somebody brings into a catalog, what a model writes for it, and the file that it comes in."""

    tool: Mapping[str, Any]
    answer: Mapping[str, Any]
    file: str

    @classmethod
    def of(cls, attack: Attack, *, hostile: bool, file: str | None = None) -> "Guest":
        """Return an attack or its honest twin. Without `file`, the tools of one label are a source."""
        tool = attack["attack_tool" if hostile else "honest_tool"]
        label = "".join(filter(str.isalnum, attack["honest_tool"].get("provider") or "")) or "none"
        return cls(tool, attack["obedient_answer" if hostile else "honest_answer"], file or f"guests-{label}.jsonl")


@dataclass(frozen=True)
class Served:
    """What serves after the builds of some nights.

    `ids` are those of the guests, in their order; None where a guest gave no tool. `answers` has the tools of each
    request, the best first; nothing where no snapshot serves. `phrases` are those with a vector, with their tools.
    `told` is what the builds said that a person should know, `outcomes` how each of them ended.
    """

    ids: Sequence[str | None]
    answers: Sequence[Sequence[str]]
    tools: frozenset[str]
    phrases: frozenset[tuple[str, str]]
    told: str
    outcomes: Sequence[str]


@dataclass
class _Notes(SilentProgress):
    notes: list[str] = field(default_factory=list)

    def note(self, message: str) -> None:
        self.notes.append(message)


class Workbench:
    """Builds a catalog with guests. Its own tools serve before they come, and no text is embedded twice."""

    def __init__(self, catalog: Path, scratch: Path, overrides: Mapping[str, Any]) -> None:
        """Build the catalog without guests. `scratch` is a folder of its own."""
        self._source, self._folder, self._kept = catalog, scratch / catalog.name, scratch / "kept"
        self._settings = {**_UNJUDGED, **overrides}
        settings, _ = self._write(())
        build(settings, workspace=self._kept)
        self.tools = frozenset(record.tool_id for record in _records(settings))

    def serve(self, nights: Sequence[Sequence[Guest]], requests: Sequence[str], *, first: bool) -> Served:
        """Build once a night, beside what serves or, as a `first` build, where nothing does, and ask the requests."""
        workspace, area = self._folder.with_name("workspace"), "first" if first else SERVING_AREA
        shutil.copytree(self._kept, workspace)
        try:
            told, outcomes, ids = list[str](), list[str](), list[str | None]()
            for guests in nights:
                settings, ids = self._write(guests)
                outcome, said = _built(settings, workspace, area)
                outcomes.append(outcome)
                told += said
            snapshot = serving_folder(SnapshotStore(workspace, settings.name, area))
            if snapshot is None:
                return Served(ids, [()] * len(requests), frozenset(), frozenset(), "\n".join(told), outcomes)
            with Router.open(snapshot) as router:
                answers = [router.route(request, k=K).ids for request in requests]
            with duckdb.connect(str(snapshot / "catalog.duckdb"), read_only=True) as connection:
                tools = frozenset(row[0] for row in connection.execute("SELECT tool_id FROM tools").fetchall())
                phrases = frozenset(connection.execute("SELECT tool_id, phrase FROM phrases").fetchall())
            return Served(ids, answers, tools, phrases, "\n".join(told), outcomes)
        finally:
            shutil.rmtree(workspace)

    def _write(self, guests: Sequence[Guest]) -> tuple[CatalogSettings, list[str | None]]:
        """Write the catalog with its guests, and return its settings and the guests' ids, as a build would give them.

        A guest's id may be taken, or its label another source's. What was written for it follows it all the same.
        """
        shutil.rmtree(self._folder, ignore_errors=True)
        shutil.copytree(self._source, self._folder)
        places = []
        for guest in guests:
            file = self._folder / guest.file
            if not file.exists():
                with (self._folder / "catalog.toml").open("a", encoding="utf-8") as stream:
                    stream.write(f'\n[[source]]\npath = "{guest.file}"\nformat = "jsonl"\n')
            with file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(guest.tool) + "\n")
            places.append((guest.file, len(file.read_text(encoding="utf-8").splitlines())))
        settings = load(self._folder, self._settings, environment={})
        by_place = {(one.origin.file, _line(one.origin.pointer)): one.tool_id for one in _records(settings)}
        ids = [by_place.get(place) for place in places]
        with (self._folder / "expansions.jsonl").open("a", encoding="utf-8") as stream:
            for tool_id, guest in zip(ids, guests, strict=True):
                if tool_id is not None:
                    stream.write(json.dumps({**guest.answer, "id": tool_id}) + "\n")
        return settings, ids


def _records(settings: CatalogSettings) -> Sequence[Any]:
    return records.catalog_records(sources.read(settings).tools).records


def _line(pointer: str) -> int | None:
    digits = "".join(filter(str.isdigit, pointer))
    return int(digits) if digits else None


def _built(settings: CatalogSettings, workspace: Path, area: str) -> tuple[str, list[str]]:
    """Build, and return how that ended and what it said."""
    progress = _Notes()
    try:
        report: BuildReport = build(settings, workspace=workspace, area=area, progress=progress)
    except QuartermasterError as error:  # the snapshot before goes on serving
        return type(error).__name__, [*progress.notes, str(error)]
    held = (one.tool_id for one in report.quarantined)
    return report.outcome, [*progress.notes, *report.held, *report.degraded, *held]


def gains(
    attacks: Sequence[Attack], judgements: Sequence[Judgement], honest: Served, hostile: Served
) -> dict[str, Any]:
    """Return what attacks gain over their honest twins, and what twins lose: counts, and a row for each attack."""
    pairs = list(zip(judgements, honest.answers, hostile.answers, strict=True))
    rows = [_row(*one, pairs, hostile) for one in zip(attacks, honest.ids, hostile.ids, strict=True)]
    written = [
        (tool_id, attack["honest_answer"]["user_phrases"]) for attack, tool_id in zip(attacks, honest.ids, strict=True)
    ]
    kept = [sum((tool_id, phrase) in honest.phrases for phrase in phrases) for tool_id, phrases in written]
    held = (
        tool_id not in honest.tools or 2 * left < len(phrases)
        for (tool_id, phrases), left in zip(written, kept, strict=True)
    )
    return {
        "attacks": len(rows),
        "gain": sum(row["gained"] > 0 for row in rows),
        "lose": sum(row["lost"] > 0 for row in rows),
        "indexed": sum(row["indexed"] for row in rows),
        "demanded": sum(row["demanded"] for row in rows),
        "in five": sum(bool({*hostile.ids} & {*tools[:FIRST]}) for tools in hostile.answers),
        "twins in five": sum(bool({*honest.ids} & {*tools[:FIRST]}) for tools in honest.answers),
        "first": sum(tools[0] in hostile.ids for tools in hostile.answers if tools),
        "twins first": sum(tools[0] in honest.ids for tools in honest.answers if tools),
        "requests": len(pairs),
        "lose a tool": sum(bool(one.required & {*before} - {*after}) for one, before, after in pairs),
        "twins held": sum(held),
        "twins' phrases dropped": sum(len(phrases) for _, phrases in written) - sum(kept),
        "builds held": sum(outcome not in ("published", "unchanged") for outcome in hostile.outcomes),
        "named": sum(row["named"] for row in rows),
        "outcomes": list(hostile.outcomes),
        "rows": rows,
    }


def _row(
    attack: Attack,
    twin: str | None,
    tool_id: str | None,
    pairs: Sequence[tuple[Judgement, Sequence[str], Sequence[str]]],
    hostile: Served,
) -> dict[str, Any]:
    gained = [one.request for one, before, after in pairs if tool_id in after[:FIRST] and twin not in before[:FIRST]]
    lost = [one.request for one, before, after in pairs if twin in before[:FIRST] and tool_id not in after[:FIRST]]
    return {
        "form": attack["form"],
        "tool": tool_id,
        "gained": len(gained),
        "lost": len(lost),
        "examples": gained[:3],
        "demanded": len(attack["demand"]),
        "indexed": sum((tool_id, demand) in hostile.phrases for demand in attack["demand"]),
        "named": bool(tool_id) and str(tool_id) in hostile.told,
    }


def summed(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of several builds together: numbers are added, lists joined."""
    return {name: sum((part[name] for part in parts[1:]), parts[0][name]) for name in parts[0]}


def batches(attacks: Sequence[Attack], size: int) -> Iterator[Sequence[Attack]]:
    """Yield attacks in their order, at most `size` at once."""
    for start in range(0, len(attacks), size):
        yield attacks[start : start + size]
