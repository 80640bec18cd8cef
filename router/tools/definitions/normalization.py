"""Normalizes a RawTool to a ToolRecord: id, provider, stripped text, parameter rows."""

import re
from collections.abc import Mapping

from router.record import ToolRecord
from router.tools.definitions.raw_tool import RawTool
from router.tools.definitions.rows import parameter_rows

_NOT_ID = re.compile(r"[^A-Za-z0-9._-]+")
_RUNS = re.compile(r"-{2,}")
_LETTER = re.compile(r"[A-Za-z0-9]")


def normalize(raw: RawTool) -> ToolRecord:
    """Return the record of a raw tool. Its id may collide with another's: see `numbered_id`."""
    name = raw.name.strip()
    provider = (raw.provider or "").strip() or None
    categories = (part.strip() for category in raw.categories for part in category.split(","))
    return ToolRecord(
        tool_id=tool_id_of(raw),
        provider=provider,
        name=name,
        description=raw.description.strip(),
        parameters=parameter_rows(raw.input_schema),
        input_schema=raw.input_schema,
        examples=tuple(example.strip() for example in raw.examples if example.strip()),
        categories=tuple(dict.fromkeys(category for category in categories if category)),
        annotations=raw.annotations,
        deprecated=raw.deprecated,
        origin=raw.origin,
        outputs=raw.outputs,
        links=raw.links,
        kind=raw.kind,
        instructions=raw.instructions,
        operation=raw.operation,
    )


def tool_id_of(raw: RawTool) -> str:
    """Return the id of a raw tool: the source's own, else `<provider>/<name>`."""
    return raw.id or compose_tool_id((raw.provider or "").strip() or None, raw.name.strip())


def compose_tool_id(provider: str | None, name: str) -> str:
    """Return `<provider>/<name>`, each part in [A-Za-z0-9._-]; the name alone where there is no provider."""
    return "/".join(_id_part(part) for part in (provider, name) if part)


def numbered_id(tool_id: str, numbers: dict[str, int], records: Mapping[str, ToolRecord]) -> str:
    """Return the next free `tool_id~2`, `tool_id~3`, … for an id that is taken; updates the counts in `numbers`."""
    numbers.setdefault(tool_id, 1)
    while True:
        numbers[tool_id] += 1
        candidate = f"{tool_id}~{numbers[tool_id]}"
        if candidate not in records:
            return candidate


def _id_part(text: str) -> str:
    part = _RUNS.sub("-", _NOT_ID.sub("-", text))
    # A name in another script becomes only dashes, so that all such tools would share an id: use its code points.
    return part if _LETTER.search(part) else "-".join(f"u{ord(character):04x}" for character in text)
