"""Read a catalog's sources in order, and tell good records from rejected ones."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.errors import CommandNotRun, RecordRejected, RunAborted
from pipeline.execution import DirectExecution, Execution
from pipeline.settings import CatalogSettings, LimitsSettings, SourceSettings
from pipeline.sources.bounds import within
from pipeline.sources.coverage import Coverage, coverage_of
from pipeline.sources.formats import READERS, detect, mapped
from pipeline.sources.formats.document import START, is_page
from pipeline.sources.gaps import Gap, name_of, origin_of, stopped
from pipeline.sources.last_reading import LastReadings, SourceReading, StaleSource, source_keys, stale_source
from pipeline.sources.naming import location, subject
from pipeline.sources.transport import fetch, mcp_client
from router.record import Origin
from router.tools.definitions.raw_tool import RawTool


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading all sources: tools in source order, rejected records, and coverage by source.

    `gaps` are those of the `sources` that gave nothing. `by_source` has each source that was read in this build;
    `stale` names those that failed and keep the records of their last good read. `keys` has the key of each source.
    """

    tools: tuple[RawTool, ...]
    rejected: tuple[RecordRejected, ...]
    coverage: tuple[Coverage, ...] = ()
    gaps: tuple[Gap, ...] = ()
    sources: int = 1
    by_source: tuple[SourceReading, ...] = ()
    stale: tuple[StaleSource, ...] = ()
    keys: tuple[str, ...] = ()


def read(
    catalog: CatalogSettings, execution: Execution | None = None, last_readings: LastReadings | None = None
) -> Reading:
    """Read every source of a catalog, each as a stage of its own.

    A source that cannot be read keeps its records of `last_readings` for `sources.max_age`. Where it has none, it is a
    gap if `sources.skip_unreadable` is set, unless no source can be read. Otherwise raises RunAborted with every
    problem, once all were tried; Unavailable where each of them may pass.
    """
    execution = execution or DirectExecution()
    readings: list[SourceReading] = []
    fresh: list[SourceReading] = []
    stale: list[StaleSource] = []
    problems: list[RunAborted] = []
    not_run: list[RunAborted] = []
    gaps: list[Gap] = []
    keys = tuple(source_keys(catalog.source))
    for source, key in zip(catalog.source, keys, strict=True):
        try:
            fresh.append(reading := execution.run("read", _read, catalog, source, key, label=source.label))
        except RunAborted as error:
            try:
                reading, told = _last_reading(catalog, key, error, last_readings)
            except RunAborted as problem:
                (not_run if isinstance(problem, CommandNotRun) else problems).append(problem)
                gaps.append(Gap(name_of(source), origin_of(source), " ".join(str(problem).split()), key=key))
                continue
            stale.append(told)
        readings.append(reading)
        if not reading.tools and not reading.rejected:
            gaps.append(Gap(name_of(source), origin_of(source), key=key))
    if (problems and not catalog.sources.skip_unreadable) or ((problems or not_run) and not readings):
        raise stopped([*problems, *not_run], len(catalog.source))
    return Reading(
        tuple(t for r in readings for t in r.tools),
        tuple(j for r in readings for j in r.rejected),
        tuple(coverage_of(r.source, r.tools, r.rejected) for r in readings),
        tuple(gaps),
        len(catalog.source),
        tuple(fresh),
        tuple(stale),
        keys,
    )


def _last_reading(
    catalog: CatalogSettings, key: str, error: RunAborted, last_readings: LastReadings | None
) -> tuple[SourceReading, StaleSource]:
    """Return what a source gave before it failed with `error`. Raises the error where it gave nothing in time."""
    max_age = catalog.sources.max_age
    last = last_readings.find(key) if last_readings and max_age else None
    if last is None:
        raise error
    return last.reading, stale_source(error, last, max_age)


def _read(catalog: CatalogSettings, source: SourceSettings, key: str) -> SourceReading:
    tools: list[RawTool] = []
    rejected: list[RecordRejected] = []
    for item in within(_read_source(catalog, source), catalog.limits, f"the source {name_of(source)}"):
        if isinstance(item, RecordRejected):
            rejected.append(item)
        else:
            tools.append(item)
    return SourceReading(key, name_of(source), tuple(tools), tuple(rejected))


def _read_source(catalog: CatalogSettings, source: SourceSettings) -> Iterator[RawTool | RecordRejected]:
    if source.command is not None and not catalog.sources.run_commands:
        raise CommandNotRun(f"{subject(source)} was not run: --plan and --no-commands run none (sources.run_commands)")
    if source.is_live_server:
        yield from _labelled(mcp_client.read_live(source, catalog.folder, catalog.limits), source.provider, "mcp")
    elif source.path is None:
        with fetch.document(source, catalog.folder, catalog.limits) as path:
            yield from _read_file(path, source, catalog.limits, location(source))
    else:
        yield from _read_file(catalog.resolve(source.path), source, catalog.limits)


def _read_file(
    path: Path, source: SourceSettings, limits: LimitsSettings, fetched_from: str | None = None
) -> Iterator[RawTool | RecordRejected]:
    """Yield the tools of a document. If it was `fetched_from` elsewhere, that names it, not its temporary file."""
    _check_page(path)
    lines = source.format == "jsonl" or path.suffix.lower() == ".jsonl"
    if source.fields:
        kind = source.format or ("jsonl" if lines else "function")
        items = mapped.read(path, source.fields, limits, lines=lines)
    else:
        kind = source.format or detect(path, limits)
        items = READERS[kind](path, limits)
    # Only JSONL may leave a tool without provider: there null is deliberate.
    fallback = None if kind == "jsonl" else Path(fetched_from or path).stem
    try:
        yield from _labelled(items, source.provider, fallback, fetched_from)
    except RunAborted as error:
        if fetched_from is None:
            raise
        raise type(error)(str(error).replace(str(path), repr(fetched_from))) from None


def _check_page(path: Path) -> None:
    """Raise RunAborted where a file is a web page. A file that cannot be read is left to its reader."""
    try:
        with path.open("rb") as file:
            start = file.read(START)
    except OSError:
        return
    if is_page(start):
        raise RunAborted(f"the source {path} is a web page (HTML), not a document of tools")


def _labelled(
    items: Iterator[RawTool | RecordRejected], label: str | None, fallback: str | None, file: str | None = None
) -> Iterator[RawTool | RecordRejected]:
    """Yield the items with their provider: the catalog's label, else the vendor's, else the file's name.

    `file`, where it is given, is their origin in place of a temporary file.
    """
    for item in items:
        origin = item.origin if file is None else Origin(file, item.origin.pointer)
        if isinstance(item, RecordRejected):
            yield RecordRejected(origin, item.reason, keys=item.keys)
        else:
            yield replace(item, origin=origin, provider=label or item.provider or fallback)
