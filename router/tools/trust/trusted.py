"""The record as an agent's model may read it: without steering text, with a note of what was left out.

Prose is cut. Names of parameters and values are what a call sends: one that cannot be trusted is withheld whole, and a
call that needs it is then known to be impossible.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from router.record import Origin, ToolRecord
from router.tools.definitions.json_values import escape_pointer_part
from router.tools.definitions.rows import parameter_rows
from router.tools.trust.characters import show_hidden, strip_hidden
from router.tools.trust.sanitization import sanitize_text
from router.tools.trust.steering_text import Finding

# Keywords that map names to schemas, hold a schema or a list of schemas, or a text that only people and models read.
_NAMED = frozenset("properties patternProperties $defs definitions dependentSchemas".split())
_NESTED = frozenset(
    "items additionalProperties additionalItems contains not if then else propertyNames unevaluatedItems "
    "unevaluatedProperties contentSchema allOf anyOf oneOf prefixItems".split()
)
_PROSE = frozenset(("description", "title", "$comment"))
_SHORTEST_ORDER = 16  # characters; no pattern matches a single shorter word
_MAX_DEPTH = 64  # deeper than any format renders
_REASONS = {
    "instruction": "it orders the model about instead of describing the tool",
    "poisoning": "it tells the agent to take secrets, to hide something from the user, or to divert a call",
    "promotion": "it claims to come before other tools",
    "defamation": "it accuses other tools",
    "hidden": "it hides characters that people do not see",
    "stuffing": "it repeats keywords",
}


@dataclass(frozen=True, slots=True)
class WithheldText:
    """A part of a tool that is not handed to a model.

    Attributes:
        field: Its place in the record: "description", or a JSON pointer such as
            "/input_schema/properties/note/description".
        check: The check that found it: "instruction", "poisoning", "promotion", "defamation", "hidden" or "stuffing".
        reason: Why, in words that do not repeat the text.
    """

    field: str
    check: str
    reason: str

    def to_json(self) -> dict[str, str]:
        """Return a JSON-ready dict."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class TrustedRecord:
    """A record without what cannot be trusted.

    Attributes:
        record: The record; an honest one is the original itself. Its id, name and parameters are never renamed.
        withheld: What was left out.
        unusable: Why no model can be handed the tool; empty for a tool that can be called.
    """

    record: ToolRecord
    withheld: tuple[WithheldText, ...] = ()
    unusable: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict. Id and name of an unusable tool show their hidden characters by code point."""
        row = {**self.record.to_json(), "withheld": [part.to_json() for part in self.withheld]}
        if self.unusable:
            row |= {key: show_hidden(row[key]) for key in ("tool_id", "name")}
        return {**row, "unusable": self.unusable}


def trusted_record(record: ToolRecord) -> TrustedRecord:
    """Return a record as it is handed to a model. The original stays as it is, for people and for calls."""
    unusable = ""
    for label, text in (("name", record.name), ("id", record.tool_id)):
        if finding := _untrusted(text):
            unusable = f"the tool's {label} cannot be shown: {_REASONS[finding.check]}"
    reading = _Reading()
    description = reading.prose(record.description, "description")
    schema = reading.schema(record.input_schema, "/input_schema", 0)
    is_same, origin = schema == record.input_schema, record.origin
    kept = replace(
        record,
        description=description,
        input_schema=record.input_schema if is_same else schema,
        parameters=record.parameters if is_same else parameter_rows(schema),
        examples=tuple(text for text in record.examples if reading.is_clean(text, "examples")),
        categories=tuple(text for text in record.categories if reading.is_clean(text, "categories")),
        provider=record.provider if reading.is_clean(record.provider, "provider") else None,
        origin=origin if reading.is_clean(origin.pointer, "origin") else Origin(origin.file, ""),
        annotations={
            name: value for name, value in record.annotations.items() if reading.is_clean([name, value], "annotations")
        },
    )
    if reading.withholds_needed and not unusable:
        unusable = "a required parameter's name hides characters or orders the model about"
    return TrustedRecord(record if kept == record else kept, tuple(reading.withheld), unusable)


def trusted_text(text: str) -> str:
    """Return a text of a stranger's, such as an error message, as a model may read it; a note where nothing is left."""
    kept, hits = sanitize_text(text)
    return kept or (f"(left out: {_REASONS[hits[0][1].check]})" if hits else "")


class _Reading:
    """Reads one record, and collects what it leaves out, with the place of each part.

    `withholds_needed` says that the name of a required parameter is among it: the tool cannot be called rightly.
    """

    def __init__(self) -> None:
        self.withheld: dict[WithheldText, None] = {}
        self.withholds_needed = False

    def prose(self, text: str, place: str) -> str:
        """Return a text without the sentences that cannot be trusted."""
        kept, hits = sanitize_text(text)
        for _, finding in hits:
            self._withhold(place, finding)
        return kept

    def is_clean(self, value: Any, place: str) -> bool:
        """Return whether a value can be trusted whole; note it as withheld where not."""
        if finding := _untrusted(value):
            self._withhold(place, finding)
        return finding is None

    def schema(self, schema: Any, place: str, depth: int) -> Any:
        """Return a part of a schema at a JSON pointer."""
        if isinstance(schema, str):  # some vendors write {"city": "the city's name"}
            return self.prose(schema, place)
        if not isinstance(schema, Mapping | list):
            return schema
        if depth > _MAX_DEPTH:
            return {}
        if isinstance(schema, list):
            return [self.schema(part, f"{place}/{number}", depth + 1) for number, part in enumerate(schema)]
        kept: dict[Any, Any] = {}
        for keyword, value in schema.items():
            below = f"{place}/{escape_pointer_part(str(keyword))}"
            if keyword in _NAMED and isinstance(value, Mapping):
                needed = schema.get("required") if keyword == "properties" else None
                kept[keyword] = self._named(value, below, needed if isinstance(needed, list) else (), depth + 1)
            elif keyword in _NESTED:
                kept[keyword] = self.schema(value, below, depth + 1)
            elif keyword in _PROSE and isinstance(value, str):
                if (text := self.prose(value, below)) or not value:
                    kept[keyword] = text
            elif keyword == "required" and isinstance(value, list):
                kept[keyword] = [name for name in value if _untrusted(name) is None]
            elif self.is_clean(keyword, place) and self.is_clean(value, below):
                kept[keyword] = value
        return kept

    def _named(self, parts: Mapping[Any, Any], place: str, needed: Any, depth: int) -> Mapping[Any, Any]:
        """Return schemas by name, without the names that cannot be trusted."""
        kept = {}
        for name, child in parts.items():
            if self.is_clean(name, place):
                kept[name] = self.schema(child, f"{place}/{escape_pointer_part(str(name))}", depth)
            elif name in needed:
                self.withholds_needed = True
        return kept

    def _withhold(self, place: str, finding: Finding) -> None:
        self.withheld[WithheldText(strip_hidden(place), finding.check, _REASONS[finding.check])] = None


def _untrusted(value: Any) -> Finding | None:
    """Return the first steering text or hidden characters in a value at any depth; None where there are none."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple):
            waiting += part
        elif not isinstance(part, str) or (len(part) < _SHORTEST_ORDER and part.isascii() and part.isalnum()):
            continue  # most keywords, names and types
        elif hits := sanitize_text(part)[1]:
            return hits[0][1]
        elif strip_hidden(part) != part:
            return Finding("hidden", "hidden characters")
    return None


def visible_value(value: Any) -> Any:
    """Return a JSON value without hidden characters in its texts; a key that hides some shows them by code point."""
    if isinstance(value, str):
        return strip_hidden(value)
    if isinstance(value, Mapping):
        return {show_hidden(key) if isinstance(key, str) else key: visible_value(part) for key, part in value.items()}
    return [visible_value(part) for part in value] if isinstance(value, list | tuple) else value
