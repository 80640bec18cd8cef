"""Read tools of a JSON or YAML document, or one per line, in any shape that `router.tools.definitions.vendors` knows.

OpenAI's and Anthropic's function schemas are the best known. They may be in a list, under `tools` or `functions`, by
name, or under the servers that offer them, which are then their providers (`router.tools.definitions.nesting`).
"""

from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import RecordRejected, RunAborted
from pipeline.settings import LimitsSettings
from pipeline.sources.formats.document import DEFAULT_LIMITS, read_document, read_source_lines
from router.record import Origin
from router.tools.definitions.nesting import ListedDefinition, definitions_within, find_definitions
from router.tools.definitions.raw_tool import RawTool
from router.tools.definitions.vendors import read_tool


def read(path: Path, limits: LimitsSettings = DEFAULT_LIMITS) -> Iterator[RawTool | RecordRejected]:
    """Yield the tools of a file. Raises RunAborted where it has no function schemas."""
    if path.suffix.lower() == ".jsonl":
        yield from read_rows(path, limits)
        return
    found = find_definitions(read_document(path, limits))
    if found is None:
        raise RunAborted(f"the source {path} holds no function schemas: expected a list, or an object with `tools`")
    for one in found:
        yield listed_tool(one, path.name)


def read_rows(
    path: Path, limits: LimitsSettings = DEFAULT_LIMITS, *, own_id: bool = False
) -> Iterator[RawTool | RecordRejected]:
    """Yield the tools of a JSONL file; a row may be a tool, or hold several."""
    for line in read_source_lines(path, limits):
        if isinstance(line, RecordRejected):
            yield line
            continue
        origin, row = line
        for one in definitions_within(row, origin.pointer):
            yield listed_tool(one, path.name, own_id=own_id)


def read_jsonl(path: Path, limits: LimitsSettings = DEFAULT_LIMITS) -> Iterator[RawTool | RecordRejected]:
    """Yield the tools of a JSONL file, each `{"id", "name", "provider", "description", "parameters", "category",
    "examples"}`. Only name is required; null, {} and missing mean the same. Ids are kept."""
    return read_rows(path, limits, own_id=True)


def listed_tool(one: ListedDefinition, file: str, *, own_id: bool = False) -> RawTool | RecordRejected:
    """Return a listed definition as a tool, or why it is rejected."""
    try:
        return read_tool(one.row, Origin(file, one.pointer), one.provider, own_id=own_id)
    except RecordRejected as rejected:
        return rejected
