"""Read the prompts of MCP servers: rows of `prompts/list`, saved or live."""

from collections.abc import Iterator
from typing import Any

from pipeline.errors import RecordRejected
from router.record import Kind, Origin
from router.tools.definitions.raw_tool import FieldReader, RawTool


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
