"""Read MCP's tools and prompts: saved answers to `tools/list` and `prompts/list`, and the rows of a live server."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipeline.errors import RecordRejected, RunAborted
from pipeline.settings import LimitsSettings
from pipeline.sources.formats.document import DEFAULT_LIMITS, read_document
from pipeline.sources.formats.function_schema import listed_tool
from pipeline.sources.provider_label import label_of_server
from router.record import Kind, Origin
from router.tools.definitions.nesting import find_definitions
from router.tools.definitions.raw_tool import FieldReader, RawTool


def read(path: Path, limits: LimitsSettings = DEFAULT_LIMITS) -> Iterator[RawTool | RecordRejected]:
    """Yield the tools of saved answers: the result, the whole JSON-RPC response, a list of pages, a bare list of tools,
    or the answers of several servers by their names. Prompts are read from a result, a response or a list of pages."""
    document = read_document(path, limits)
    prompts = take_prompts(document)
    found = find_definitions(document)
    if found is None and not prompts:
        raise RunAborted(f"the source {path} is not a saved tools/list answer: it has no list of tools")
    # The tools first: where a tool and a prompt share a name, the tool has the plain id, as from a live server.
    servers = {one.provider for one in found or ()}
    for one in found or ():
        # The names of several servers tell their tools apart: shortened, two could be one.
        short = label_of_server(one.provider) if one.provider and len(servers) == 1 else one.provider
        yield listed_tool(replace(one, provider=short), path.name)
    yield from read_prompts(prompts, path.name, None)


def take_prompts(document: Any) -> list[tuple[str, Any]]:
    """Take the prompts out of saved answers: a result, a response, or a list of pages. Return them by JSON pointer.

    Prompts look like tools, so whoever reads the tools must not see them.
    """
    pages = document if isinstance(document, list) else [document]
    found: list[tuple[str, Any]] = []
    for number, page in enumerate(pages):
        pointer = f"/{number}" if isinstance(document, list) else ""
        if isinstance(page, dict) and isinstance(page.get("result"), dict):
            page, pointer = page["result"], f"{pointer}/result"
        rows = page.get("prompts") if isinstance(page, dict) else None
        if isinstance(rows, list) and any(isinstance(row, dict) and "name" in row for row in rows):
            del page["prompts"]
            page.setdefault("tools", [])
            found += [(f"{pointer}/prompts/{place}", row) for place, row in enumerate(rows)]
    return found


def read_prompts(rows: list[tuple[str, Any]], file: str, provider: str | None) -> Iterator[RawTool | RecordRejected]:
    """Yield the prompts of rows with their pointers; a row that is none is rejected alone."""
    for pointer, row in rows:
        try:
            yield _prompt(row, Origin(file, pointer), provider)
        except RecordRejected as rejected:
            yield rejected


def _prompt(row: Any, origin: Origin, provider: str | None) -> RawTool:
    fields = FieldReader(row, origin)
    title, description = fields.text("title").strip(), fields.text("description").strip()
    arguments = fields.row.get("arguments")
    if arguments is not None and not isinstance(arguments, list):
        raise RecordRejected(origin, f"arguments is {fields.kind('arguments')}, not a list")
    schema: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    for place, argument in enumerate(arguments or ()):
        argument = FieldReader(argument, Origin(origin.file, f"{origin.pointer}/arguments/{place}"))
        said = argument.text("description").strip()
        # The protocol has texts alone.
        schema["properties"][argument.name()] = {"type": "string", **({"description": said} if said else {})}
        if argument.row.get("required") is True:
            schema.setdefault("required", []).append(argument.name())
    return RawTool(
        name=fields.name(),
        origin=origin,
        description=description or title,
        input_schema=schema,
        provider=provider,
        annotations={**({"title": title} if title else {}), "readOnlyHint": True},
        kind=Kind.PROMPT,
    )
