"""Vendor formats → RawTool. `read` takes a catalog's sources in order and tells good records from rejected ones."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.errors import RecordRejected
from pipeline.settings import CatalogSettings, SourceSettings
from pipeline.sources import function_schema, jsonl, mcp, openapi
from pipeline.sources.detect import detect
from pipeline.sources.raw_tool import RawTool

__all__ = ["RawTool", "Reading", "RecordRejected", "read"]

_READERS = {"function": function_schema.read, "openapi": openapi.read, "mcp": mcp.read, "jsonl": jsonl.read}


@dataclass(frozen=True, slots=True)
class Reading:
    """All that the sources held: tools in source order, and what was rejected."""

    tools: tuple[RawTool, ...]
    rejected: tuple[RecordRejected, ...]


def read(catalog: CatalogSettings) -> Reading:
    """Read every source of a catalog. Raises RunAborted where one cannot be read at all."""
    tools: list[RawTool] = []
    rejected: list[RecordRejected] = []
    for source in catalog.source:
        for item in _read_source(catalog, source):
            if isinstance(item, RecordRejected):
                rejected.append(item)
            else:
                tools.append(item)
    return Reading(tuple(tools), tuple(rejected))


def _read_source(catalog: CatalogSettings, source: SourceSettings) -> Iterator[RawTool | RecordRejected]:
    if source.path is None:
        yield from _labelled(mcp.read_live(source), source.provider, "mcp")
        return
    path = catalog.resolve(source.path)
    kind = source.format or detect(path)
    # Only JSONL may leave a tool without provider: its null is the vendor's word.
    fallback = None if kind == "jsonl" else Path(path).stem
    yield from _labelled(_READERS[kind](path), source.provider, fallback)


def _labelled(
    items: Iterator[RawTool | RecordRejected], label: str | None, fallback: str | None
) -> Iterator[RawTool | RecordRejected]:
    """The catalog's label wins over the vendor's, the vendor's over the file's name."""
    for item in items:
        if isinstance(item, RecordRejected):
            yield item
        else:
            yield replace(item, provider=label or item.provider or fallback)
