"""One tool in any vendor's words → RawTool: the only reader of a definition, for builds and at run time.

What the makers of definitions call each field stands in `router.tools.definitions.field_names`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from router.errors import RecordRejected
from router.fingerprint import canonical_json
from router.record import Origin
from router.tools.definitions.field_names import (
    CATEGORIES,
    DESCRIPTIONS,
    EXAMPLES,
    METADATA,
    PARAMETERS,
    PROVIDERS,
    SPLIT_PARAMETERS,
    WRAPPERS,
)
from router.tools.definitions.parameters import parameter_rows
from router.tools.definitions.raw_tool import FieldReader, RawTool
from router.tools.definitions.schema_shapes import (
    JSON_SCHEMA,
    ParsedParameters,
    is_empty,
    parse_parameters,
    with_required,
)

_LONGEST = 60  # characters of what an unread key says


def read_tool(row: object, origin: Origin, provider: str | None = None, *, own_id: bool = False) -> RawTool:
    """Return the tool that a definition describes, whatever its shape. Raises RecordRejected, naming the field.

    `provider` is whom the tool is listed under, unless the definition names one itself. `own_id`: its `id` is the
    tool's, as in this project's own JSONL. Elsewhere it may be anything, and a server could take another's.
    """
    outer = FieldReader(row, origin)
    fields, wrapper = _unwrapped(outer)
    read = _Read(fields)
    key, parameters = _parameters(fields, read)
    schema = parameters.schema
    if isinstance(fields.row.get("required"), list):
        schema = with_required(schema, fields.row["required"])
        read.used.add("required")
    annotations = fields.mapping("annotations")  # hints that filters go by: unreadable ones are not passed over
    title = read.text("title")
    lost = key if key and not is_empty(schema) and not _has_parameters(schema) else None
    tool = RawTool(
        name=fields.name(),
        origin=origin,
        description=read.first_text(DESCRIPTIONS),
        input_schema=_commented(schema, key, parameters.shape),
        id=(fields.text("id").strip() or None) if own_id else None,
        provider=_provider(fields, read, provider),
        examples=tuple(example for field in EXAMPLES for example in read.texts(field)),
        categories=tuple(category for field in CATEGORIES for category in read.texts(field)),
        annotations={
            **annotations,
            **({"title": title} if title else {}),
            **({"strict": True} if fields.row.get("strict") is True else {}),
        },
        deprecated=fields.row.get("deprecated") is True,
        shape=f"{key}: {parameters.shape}" if parameters.shape else "",
        lost=lost or (None if schema else read.lost),
    )
    read.used |= {"name", "annotations", "deprecated"}
    unread = dict(unread_keys(fields.row, read.used, f"{wrapper}." if wrapper else ""))
    if wrapper:
        unread |= unread_keys(outer.row, {wrapper})
    return replace(tool, unread=unread) if unread else tool


def unread_keys(row: Mapping[str, Any], used: set[str], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the keys that nobody read and that say something, each with what it says, shortened."""
    for key, value in row.items():
        empty = value is None or value in ("", [], {}) or isinstance(value, bool)
        if key not in used and key not in METADATA and not empty and not key.startswith(("x-", "$", "_")):
            yield prefix + key, _shown(value)


class _Read:
    """The fields that are auxiliary: of another type than expected they cost nothing, and are reported as not read."""

    def __init__(self, fields: FieldReader) -> None:
        self.used: set[str] = set()
        self.lost: str | None = None
        self._fields = fields

    def first_text(self, places: tuple[str, ...]) -> str:
        """The first text that says something. The first place is the field's own: anything but a text is refused."""
        own = self._fields.text(places[0])
        self.used.add(places[0])
        if own.strip():
            return own
        for place in places[1:]:
            value = value_at(self._fields.row, place)
            if isinstance(value, str) and value.strip():
                self.used.add(place.partition(".")[0])
                return value
        return own

    def text(self, field: str) -> str:
        """A text; empty where it is none."""
        value = self._fields.row.get(field)
        if not isinstance(value, str):
            return ""
        self.used.add(field)
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        """A text, or a list with other JSON kept as text; empty where it is neither."""
        value = self._fields.row.get(field)
        if not isinstance(value, str | list):
            return ()
        self.used.add(field)
        return self._fields.texts(field)


def value_at(row: Mapping[str, Any], place: str) -> Any:
    """The value at a dotted place; None where there is none."""
    value: Any = row
    for key in place.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _unwrapped(outer: FieldReader) -> tuple[FieldReader, str | None]:
    """The object that has the name, and the key that it lies under; the object itself where it lies under none."""
    for wrapper in WRAPPERS:
        if wrapper not in outer.row:
            continue
        if isinstance(outer.row[wrapper], dict) or (wrapper == WRAPPERS[0] and "name" not in outer.row):
            return FieldReader(outer.row[wrapper], outer.origin), wrapper
    return outer, None


def _parameters(fields: FieldReader, read: _Read) -> tuple[str, ParsedParameters]:
    """The parameters, and the key that they stand under."""
    empty = ParsedParameters()
    for place, certain in PARAMETERS.items():
        value = value_at(fields.row, place)
        if value is None:
            continue
        found = parse_parameters(value)
        if found is None and certain:
            expected = "an object" if not isinstance(value, list) else "an object or a list of named ones"
            raise RecordRejected(fields.origin, f"{place} is {fields.kind(place)}, not {expected}")
        if found is None:
            read.lost = read.lost or place
        else:
            read.used.add(place.partition(".")[0])
            if found.schema:
                return place, found
    return _split_parameters(fields, read) or ("", empty)


def _split_parameters(fields: FieldReader, read: _Read) -> tuple[str, ParsedParameters] | None:
    required, optional = (parse_parameters(fields.row.get(key)) for key in SPLIT_PARAMETERS)
    if required is None or optional is None or not (required.schema or optional.schema):
        return None
    read.used |= set(SPLIT_PARAMETERS)
    names = required.schema.get("properties", {})
    properties = {**names, **optional.schema.get("properties", {})}
    schema = with_required({"type": "object", "properties": properties}, list(names))
    return " and ".join(SPLIT_PARAMETERS), ParsedParameters(schema, required.shape or optional.shape)


def _commented(schema: dict[str, Any], key: str, shape: str) -> dict[str, Any]:
    """A schema that was something else says what: whoever looks for the original finds it."""
    return {"$comment": f"read from {key}, {shape}", **schema} if schema and shape != JSON_SCHEMA else schema


def _has_parameters(schema: dict[str, Any]) -> bool:
    properties = schema.get("properties")
    return bool(properties) if isinstance(properties, dict) else bool(parameter_rows(schema))


def _provider(fields: FieldReader, read: _Read, listed: str | None) -> str | None:
    """The definition's own word, where null is a word too; else whom it is listed under."""
    if "provider" in fields.row:
        read.used.add("provider")
        return fields.text("provider") or listed
    for place in PROVIDERS:
        value = value_at(fields.row, place)
        if isinstance(value, str) and value.strip():
            read.used.add(place.partition(".")[0])
            return value
    return listed


def _shown(value: Any) -> str:
    """What a value says, in a few characters; a vector of a thousand numbers is not written out."""
    if isinstance(value, list):
        first = _shown(value[0]) if len(value) == 1 else f"{_shown(value[0])}, … {len(value):,} items"
        return f"[{first}]"
    if isinstance(value, dict):
        keys = ", ".join(str(key) for key in list(value)[:4])
        return f"{{{keys[:_LONGEST]}{', …' if len(value) > 4 else ''}}}"
    text = " ".join((value if isinstance(value, str) else canonical_json(value)).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
