"""Vendor formats → RawTool. `read` takes a catalog's sources in order and tells good records from rejected ones."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pipeline.errors import RecordRejected, RunAborted
from pipeline.execution import Direct, Execution
from pipeline.settings import CatalogSettings, SourceSettings
from pipeline.sources import fetch, function_schema, jsonl, mapped, mcp, openapi
from pipeline.sources.coverage import Coverage, coverage_of
from pipeline.sources.detect import detect
from router.definitions.raw_tool import RawTool
from router.record import Origin

__all__ = ["Coverage", "RawTool", "Reading", "RecordRejected", "read"]

_READERS = {"function": function_schema.read, "openapi": openapi.read, "mcp": mcp.read, "jsonl": jsonl.read}


@dataclass(frozen=True, slots=True)
class Reading:
    """All that the sources held: tools in source order, what was rejected, and what of each source was read."""

    tools: tuple[RawTool, ...]
    rejected: tuple[RecordRejected, ...]
    coverage: tuple[Coverage, ...] = ()


def read(catalog: CatalogSettings, do: Execution | None = None) -> Reading:
    """Read every source of a catalog, each as a stage of its own. Raises RunAborted where one cannot be read at all."""
    do = do or Direct()
    readings = [do("read", partial(_read, catalog, source), source.label) for source in catalog.source]
    return Reading(
        tuple(t for r in readings for t in r.tools),
        tuple(j for r in readings for j in r.rejected),
        tuple(c for r in readings for c in r.coverage),
    )


def _read(catalog: CatalogSettings, source: SourceSettings) -> Reading:
    tools: list[RawTool] = []
    rejected: list[RecordRejected] = []
    for item in _read_source(catalog, source):
        if isinstance(item, RecordRejected):
            rejected.append(item)
        else:
            tools.append(item)
    return Reading(tuple(tools), tuple(rejected), (coverage_of(_name(source), tools, rejected),))


def _name(source: SourceSettings) -> str:
    """What a source is called in reports: its path as it is written, or where it is, without what may be a secret."""
    return source.path.as_posix() if source.path is not None else fetch.place(source)


def _read_source(catalog: CatalogSettings, source: SourceSettings) -> Iterator[RawTool | RecordRejected]:
    if source.is_live_server:
        yield from _labelled(mcp.read_live(source, catalog.folder), source.provider, "mcp")
    elif source.path is None:
        with fetch.document(source, catalog.folder) as path:
            yield from _read_file(path, source, fetch.place(source))
    else:
        yield from _read_file(catalog.resolve(source.path), source)


def _read_file(path: Path, source: SourceSettings, place: str | None = None) -> Iterator[RawTool | RecordRejected]:
    """Read a document. A fetched one is named by its `place`, not by the temporary file that it lies in."""
    lines = source.format == "jsonl" or path.suffix.lower() == ".jsonl"
    kind = source.format or ("jsonl" if lines else "function") if source.fields else source.format or detect(path)
    # Only JSONL may leave a tool without provider: its null is the vendor's word.
    fallback = None if kind == "jsonl" else Path(place or path).stem
    items = mapped.read(path, source.fields, lines=lines) if source.fields else _READERS[kind](path)
    yield from _labelled(items if place is None else _placed(items, path, place), source.provider, fallback)


def _placed(items: Iterator[RawTool | RecordRejected], path: Path, place: str) -> Iterator[RawTool | RecordRejected]:
    try:
        for item in items:
            origin = Origin(place, item.origin.pointer)
            if isinstance(item, RecordRejected):
                yield RecordRejected(origin, item.reason, keys=item.keys)
            else:
                yield replace(item, origin=origin)
    except RunAborted as error:
        raise RunAborted(str(error).replace(str(path), repr(place))) from None


def _labelled(
    items: Iterator[RawTool | RecordRejected], label: str | None, fallback: str | None
) -> Iterator[RawTool | RecordRejected]:
    """The catalog's label wins over the vendor's, the vendor's over the file's name."""
    for item in items:
        if isinstance(item, RecordRejected):
            yield item
        else:
            yield replace(item, provider=label or item.provider or fallback)
