"""Read a catalog's sources in order, within the limits on records, and separate good records from rejected ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from pipeline.errors import CommandNotRun, RecordRejected, RunAborted
from pipeline.execution import DirectExecution, Execution
from pipeline.memo import Memo
from pipeline.settings import CatalogSettings, LimitsSettings, SourceSettings
from pipeline.sources import python_modules
from pipeline.sources.coverage import Coverage, Gap, coverage_of, empties, stopped
from pipeline.sources.formats import READERS, detect, openapi
from pipeline.sources.formats.document import Items, suffix_of
from pipeline.sources.formats.tool_lists import read_mapped
from pipeline.sources.last_reading import FindReading, SourceReading, StaleSource, source_keys, stale_source
from pipeline.sources.matching import files_of, names_many, sources_of
from pipeline.sources.naming import label_of, location, name_of, origin_of, subject
from pipeline.sources.ownership import LabelOwnership, PlacedSource
from pipeline.sources.transport import fetch, mcp_client
from pipeline.sources.transport.approval import not_approved, send_permissions
from pipeline.sources.transport.pages import read_pages
from router.record import Origin
from router.tools.definitions.raw_tool import RawTool

_WAY_OUT = "split it, or raise the limit"


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading all sources: tools in source order, rejected records, and coverage by source.

    `read_from` has the sources, each file of a folder or pattern one, and `keys` their keys; `gaps` are those that gave
    nothing. `by_source` has each source that was read in this build; `stale` names those that failed and keep the
    records of their last good read. `notes` say which files are left out.
    """

    tools: tuple[RawTool, ...]
    rejected: tuple[RecordRejected, ...]
    coverage: tuple[Coverage, ...] = ()
    gaps: tuple[Gap, ...] = ()
    by_source: tuple[SourceReading, ...] = ()
    stale: tuple[StaleSource, ...] = ()
    keys: tuple[str, ...] = ()
    read_from: tuple[SourceSettings, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def sources(self) -> int:
        """The number of sources."""
        return len(self.read_from)

    def no_tool(self, catalog: str, rejected: Sequence[RecordRejected]) -> RunAborted:
        """Return the error for a catalog whose sources, all together, gave no tool; `rejected` are all its records."""
        why = [f"{one.source}: {one.advice}" for one in self.coverage if one.advice]
        if rejected and not why:
            why.append(f"{len(rejected):,} were rejected, the first {rejected[0]}")
        if self.sources > 1 and (sentence := empties(self.gaps, self.sources)):
            why.append(sentence)
        why += [gap.reason for gap in self.gaps if gap.skipped]
        return RunAborted(f"the catalog {catalog!r} holds no tool{': ' * bool(why)}{'; '.join(why)}")


def read(
    catalog: CatalogSettings,
    execution: Execution | None = None,
    last_reading: FindReading = lambda key: None,
    memo: Memo | None = None,
) -> Reading:
    """Read every source of a catalog, each as a separate stage.

    A source that cannot be read keeps its `last_reading` by its key for `sources.max_age`. Where it has none, it is a
    gap if `sources.skip_unreadable` is set, unless no source can be read. Otherwise raises RunAborted with every
    problem, once all were tried; Unavailable where each of them may pass. `memo` has what earlier builds read.
    """
    execution, memo = execution or DirectExecution(), memo or Memo()
    readings: dict[str, SourceReading] = {}
    fresh: list[str] = []
    stale: list[StaleSource] = []
    problems: list[RunAborted] = []
    gaps: list[Gap] = []
    sources, entries, notes = sources_of(catalog)
    keys = tuple(source_keys(sources))
    for source, key in zip(sources, keys, strict=True):
        try:
            reading, old = _read_or_recall(catalog, source, key, execution, last_reading, memo)
        except RunAborted as problem:
            problems.append(problem)
            gaps.append(Gap(name_of(source), origin_of(source), " ".join(str(problem).split()), key=key))
            continue
        readings[key] = reading
        if old is None:
            fresh.append(key)
        else:
            stale.append(old)
        if not reading.tools and not reading.rejected:
            gaps.append(Gap(name_of(source), origin_of(source), key=key))
    not_run = [problem for problem in problems if isinstance(problem, CommandNotRun)]
    unreadable = [problem for problem in problems if not isinstance(problem, CommandNotRun)]
    if (unreadable and not catalog.sources.skip_unreadable) or (problems and not readings):
        raise stopped([*unreadable, *not_run], len(sources))
    placed = list(map(PlacedSource, sources, keys, entries))
    settled = LabelOwnership(catalog, placed, readings, last_reading).settled()
    return Reading(
        tuple(tool for reading in settled.values() for tool in reading.tools),
        tuple(record for reading in settled.values() for record in reading.rejected),
        tuple(coverage_of(one.source, one.tools, one.rejected, one.notices) for one in settled.values()),
        tuple(gaps),
        tuple(settled[key] for key in fresh),
        tuple(stale),
        keys,
        tuple(sources),
        tuple(notes),
    )


def _read_or_recall(
    catalog: CatalogSettings,
    source: SourceSettings,
    key: str,
    execution: Execution,
    last_reading: FindReading,
    memo: Memo,
) -> tuple[SourceReading, StaleSource | None]:
    """Return what a source gives; where it fails, what it gave before. Raises RunAborted where that is too old."""
    try:
        return execution.run("read", _read, catalog, source, key, memo, label=label_of(source)), None
    except RunAborted as error:
        max_age = catalog.sources.max_age
        last = last_reading(key) if max_age else None
        if last is None:
            raise
        return last.reading, stale_source(error, last, max_age)


def _read(catalog: CatalogSettings, source: SourceSettings, key: str, memo: Memo) -> SourceReading:
    items = list(_within(_items(catalog, source, memo), catalog.limits, f"the source {name_of(source)}"))
    tools = tuple(item for item in items if isinstance(item, RawTool))
    rejected = tuple(item for item in items if isinstance(item, RecordRejected))
    notices = tuple(str(item) for item in items if isinstance(item, str))
    return SourceReading(key, name_of(source), tools, rejected, notices)


def _items(catalog: CatalogSettings, source: SourceSettings, memo: Memo) -> Items:
    client = source.client
    if (source.command or source.python) and not catalog.sources.run_commands:
        raise CommandNotRun(f"{subject(source)} was not run: --plan and --no-commands run none (sources.run_commands)")
    sent = () if catalog.sources.run_commands else send_permissions(source, catalog.folder)
    if new := not_approved(sent):
        raise CommandNotRun(f"{subject(source)} was not asked: allow by a build to {new[0]} (--allow-commands)")
    folder = catalog.folder_of(source)
    if source.python is not None:
        # Without a label, as `from_tools` names them.
        yield from _labelled(python_modules.read(source, catalog.folder, catalog.limits), source.provider, None)
    elif source.is_live_server:
        items = _labelled(mcp_client.read_live(source, folder, catalog.limits), source.provider, "mcp")
        yield from (item for item in items if not (client and isinstance(item, RawTool)) or client.offers(item.name))
    elif source.path is None:
        yield from read_pages(source, folder, catalog.limits, partial(_read_file, memo))
    else:
        if names_many(catalog, source):
            files_of(catalog, source.path)  # says why it has none
        yield from _read_file(memo, catalog.resolve(source.path), source, catalog.limits)


def _read_file(
    memo: Memo, path: Path, source: SourceSettings, limits: LimitsSettings, fetched_from: Origin | None = None
) -> Items:
    """Yield the tools of a document. If it was `fetched_from` elsewhere, errors name that, not its temporary file."""
    lines = source.format == "jsonl" or suffix_of(path) == ".jsonl"
    if source.fields:
        kind = source.format or ("jsonl" if lines else "function")
        items = read_mapped(path, source.fields, limits, lines=lines)
    else:
        kind = source.format or detect(path, limits)
        if kind == "openapi" and source.url is not None:
            items = openapi.read(path, limits, location(source), fetch.files_of_server(source))
        else:
            items = READERS[kind](path, limits, memo)
    # Only JSONL may leave a tool without provider: there null is deliberate.
    file = fetched_from.file if fetched_from else str(path)
    fallback = None if kind == "jsonl" else Path(file.removesuffix(".gz")).stem
    place = fetched_from or (None if path.is_dir() else Origin(origin_of(source), ""))
    try:
        yield from _labelled(items, source.provider, fallback, place)
    except RunAborted as error:
        if fetched_from is None:
            raise
        raise type(error)(str(error).replace(str(path), repr(name_of(source)))) from None


def _labelled(items: Items, label: str | None, fallback: str | None, place: Origin | None = None) -> Items:
    """Yield the items with their provider: the catalog's label, else the vendor's, else the file's name.

    `place`, where it is given, is what their origins lie in.
    """
    for item in items:
        if isinstance(item, str):
            yield item
            continue
        origin = item.origin if place is None else Origin(place.file, place.pointer + item.origin.pointer)
        if isinstance(item, RecordRejected):
            yield RecordRejected(origin, item.reason, keys=item.keys)
        else:
            provider = label or item.provider or fallback
            is_placed = (origin, provider) == (item.origin, item.provider)
            yield item if is_placed else replace(item, origin=origin, provider=provider)


def _within(items: Items, limits: LimitsSettings, subject: str) -> Items:
    """Yield the items of a source, each within the limits: a tool that exceeds one is rejected, or shortened with a
    notice.

    Raises RunAborted where all of them together, of the source that `subject` names, exceed one.
    """
    total = number = 0
    for item in items:
        if (number := number + (not isinstance(item, str))) > limits.tools:
            raise RunAborted(f"{subject} holds more than the {limits.tools:,} tools of limits.tools: {_WAY_OUT}")
        if isinstance(item, RawTool):
            item, size = _bounded(item, limits)
            total += size
        if total > (most := limits.source_bytes):
            raise RunAborted(
                f"{subject} holds tools of more than the {most:,} bytes of limits.source_bytes: {_WAY_OUT}"
            )
        yield item


def _bounded(tool: RawTool, limits: LimitsSettings) -> tuple[RawTool | RecordRejected, int]:
    """Return a tool whose texts are no longer than allowed, or why it is rejected, and its bytes."""
    most, listed = limits.text_characters, limits.listed_texts
    notices = list(tool.notices)
    if (length := len(tool.description)) > most:
        notices.append(f"its description has {length:,} characters: the first {most:,} count")
    texts: dict[str, Any] = {
        field: tuple(text[:most] for text in getattr(tool, field)[:listed]) for field in ("examples", "categories")
    }
    for field, shorter in texts.items():
        if shorter != getattr(tool, field):
            notices.append(f"its {field} are shortened: the first {listed:,} count")
    if len(notices) > len(tool.notices):
        tool = replace(tool, description=tool.description[:most], notices=tuple(notices), **texts)
    for field in ("name", "id", "provider"):
        if (length := len(getattr(tool, field) or "")) > (most := limits.name_characters):
            why = f"{field} has {length:,} characters, more than the {most:,} of limits.name_characters"
            return RecordRejected(tool.origin, why), 0
    counted = [tool.name, tool.description, tool.examples, tool.categories, tool.input_schema, tool.annotations]
    if (size := len(msgspec.json.encode(counted))) > (most := limits.record_characters):
        why = f"it has {size:,} characters as JSON, more than the {most:,} of limits.record_characters"
        return RecordRejected(tool.origin, why), 0
    # Within limits of their own, so that they reject no tool.
    beside = [tool.outputs, tool.links, tool.instructions, tool.operation]
    return tool, size + len(msgspec.json.encode(beside))
