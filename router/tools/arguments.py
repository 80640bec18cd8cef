"""Mends a model's arguments by a tool's schema: JSON written as text, null for an optional, one value for a list.

Only values of a type that the schema does not take are changed, only where nothing is lost, and only where they can be
read in one way: "5" becomes 5 where a number is due, "five" stays and is refused, as "5" is where a number or a list of
numbers is due. Arguments that fit their schema stay as they are. A schema is a stranger's: its steps are counted.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from router.errors import QuartermasterError, RequestInvalid, quoted
from router.tools.definitions.json_values import parse_json
from router.tools.definitions.rows import Steps, TooManySteps, follow

_Taken = TypeVar("_Taken")
_DEEPEST = 32  # schemas within each other, references included
_MOST_STEPS = 50_000  # parts of a schema that one call may visit
_MOST_TEXT = 100_000  # characters of a text that is read as JSON
_MOST_TOLD = 5  # notes
_KINDS: tuple[tuple[type, frozenset[str]], ...] = (
    *((kind, frozenset({name})) for kind, name in ((type(None), "null"), (bool, "boolean"), (str, "string"))),
    *((int, frozenset({"integer", "number"})), (Mapping, frozenset({"object"}))),
)
_WORDS = {"true": "true", "false": "false", "none": "null"}  # Python writes them in capitals


def object_of(arguments: Any, tool: str = "") -> Mapping[str, Any]:
    """Return a model's arguments as a mapping: they may be an object, the JSON text of one, or nothing at all.

    Raises RequestInvalid, which names the tool, for anything else.
    """
    said = f"{tool}: the arguments are" if tool else "the arguments are"
    if isinstance(arguments, str):
        try:
            arguments = parse_json(arguments or "{}")
        except ValueError as error:
            raise RequestInvalid(f"{said} not JSON: {error}") from None
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise RequestInvalid(f"{said} {quoted(arguments)}, they must be a JSON object")
    return arguments


def take_arguments(
    take: Callable[[Mapping[str, Any]], _Taken], schema: Mapping[str, Any], arguments: Mapping[str, Any]
) -> tuple[_Taken, str]:
    """Return what `take` makes of a model's arguments, mended by a schema if it refuses them, and what was mended.

    Raises what `take` raises of the arguments as they were given, where it refuses both.
    """
    try:
        return take(arguments), ""
    except QuartermasterError:
        mended, told = mend_arguments(schema, arguments)
        if told:
            with suppress(QuartermasterError):
                return take(mended), told
        raise


def mend_arguments(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return arguments mended by a JSON Schema, and what was done to each, by its path, as a sentence for a model.

    They are as they were, and the text is empty, where nothing was done or it takes more steps than any real schema.
    """
    mending = _Mending(schema)
    try:
        mended, notes = mending.mended(schema, arguments, "", 0), mending.notes
    except TooManySteps:
        notes = []
    if not notes:
        return arguments, ""
    from router.tools.trust.trusted import trusted_text  # here: a first answer mends nothing

    listed = "; ".join([*notes[:_MOST_TOLD], *([f"and {len(notes) - _MOST_TOLD} more"] if notes[_MOST_TOLD:] else [])])
    return mended, trusted_text(f"The arguments were mended by the tool's schema: {listed}.")


@dataclass
class _Mending:
    """One object's mending: the schema's root, from which references lead, and the notes and steps so far."""

    root: Mapping[str, Any]
    notes: list[str] = field(default_factory=list)
    steps: Steps = field(default_factory=lambda: Steps(_MOST_STEPS))

    def mended(self, schema: Any, value: Any, path: str, depth: int) -> Any:
        """Return a value mended by its schema; as it is where the schema says nothing of its type."""
        schema = self._resolved(schema)
        if depth > _DEEPEST or schema is None:
            return value
        types = self.types(schema, depth)
        if types and kind_of(value).isdisjoint(types):
            readings = [*self._readings(schema, types, value, depth)]
            if len(readings) == 1:
                note, value = readings[0]
                self.notes.append(f"{path:.80}: {note}")
        for part in _schemas(schema.get("allOf")):
            value = self.mended(part, value, path, depth + 1)
        if (branch := self._branch(schema, value, depth)) is not None:
            value = self.mended(branch, value, path, depth + 1)
        if isinstance(value, Mapping):
            return self._object(schema, value, path, depth)
        if isinstance(value, list):
            first, rest = _schemas(schema.get("prefixItems")), schema.get("items")
            return [
                self.mended(first[place] if place < len(first) else rest, item, f"{path}[{place}]", depth + 1)
                for place, item in enumerate(value)
            ]
        return value

    def types(self, schema: Any, depth: int) -> frozenset[str]:
        """Return the JSON types that a schema takes; none where it takes any, or nobody can tell."""
        schema = self._resolved(schema)
        if schema is None or depth > _DEEPEST:
            return frozenset()
        named = schema.get("type")
        named = [named] if isinstance(named, str) else _schemas(named)
        found = frozenset(one for one in named if isinstance(one, str))
        if not found:
            values = [schema["const"]] if "const" in schema else _schemas(schema.get("enum"))
            self.steps.spend(len(values))
            found = frozenset().union(*map(kind_of, values))
        if not found:
            branches = [self.types(branch, depth + 1) for branch in _branches(schema)]
            found = frozenset().union(*branches) if all(branches) else frozenset()
        return found | {"null"} if found and schema.get("nullable") is True else found

    def _readings(
        self, schema: Mapping[str, Any], types: frozenset[str], value: Any, depth: int
    ) -> Iterator[tuple[str, Any]]:
        """Yield what a value can stand for, of the types that are due, where nothing is lost; each with a note."""
        text = value.strip() if isinstance(value, str) else None
        if text is not None and len(text) <= _MOST_TEXT:
            self.steps.spend(len(text) // 100)
            try:
                read = parse_json(_WORDS.get(text.lower(), text))
            except ValueError:
                read = text
            if not kind_of(read).isdisjoint(types):  # a text is none of them
                yield "its text was read as JSON", read
        elif isinstance(value, int) and not isinstance(value, bool) and "string" in types and value.bit_length() < 1024:
            yield "its number was written as a text", str(value)
        # A text in brackets may be a list, which was read above or cannot be; one without content is no item.
        no_item = value is None or (text is not None and (text[:1] in ("", "[") or text.lower() in ("null", "none")))
        if "array" not in types or no_item:
            return
        while (branch := self._branch(schema, [], depth)) is not None:
            schema = branch
        items = self._resolved(schema.get("items")) or {}
        within = self.types(items, depth + 1)
        fits = not within or not kind_of(value).isdisjoint(within)
        if not _branches(schema) and (fits or any(self._readings(items, within - {"array"}, value, depth + 1))):
            yield "its value was put into a list", [value]

    def _object(self, schema: Mapping[str, Any], value: Mapping[str, Any], path: str, depth: int) -> dict[str, Any]:
        properties = schema.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        # Which properties are additional depends on patterns, which do not run here.
        others = None if "patternProperties" in schema else schema.get("additionalProperties")
        required = {name for name in _schemas(schema.get("required")) if isinstance(name, str)}
        self.steps.spend(len(required))
        kept = {}
        for name, inner in value.items():
            place = f"{path}.{name}" if path else f"{name}"
            known = properties.get(name, others)
            if inner is None and name in properties and name not in required:
                types = self.types(known, depth + 1)
                if types and "null" not in types:
                    self.notes.append(f"{place:.80}: it is optional and was null, so it was left out")
                    continue
            kept[name] = self.mended(known, inner, place, depth + 1)
        return kept

    def _branch(self, schema: Mapping[str, Any], value: Any, depth: int) -> Mapping[str, Any] | None:
        """Return the one branch of `anyOf` or `oneOf` that may take the value; None where several may, or none."""
        fitting = []
        for branch in _branches(schema):
            types = self.types(branch, depth + 1)
            fitting += [] if types and kind_of(value).isdisjoint(types) else [branch]
        return self._resolved(fitting[0]) if len(fitting) == 1 else None

    def _resolved(self, schema: Any) -> Mapping[str, Any] | None:
        """Follow references within the document; None for what is no schema, or leads in a circle."""
        self.steps.spend()
        schema, _ = follow(schema, self.root, self.steps)
        return schema if isinstance(schema, Mapping) else None


def kind_of(value: Any) -> frozenset[str]:
    """Return the JSON types of a value: a whole number is an integer and a number."""
    if isinstance(value, float):
        return frozenset({"number", "integer"} if value.is_integer() else {"number"})
    return next((names for kind, names in _KINDS if isinstance(value, kind)), frozenset({"array"}))


def _schemas(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _branches(schema: Mapping[str, Any]) -> Sequence[Any]:
    return [*_schemas(schema.get("anyOf")), *_schemas(schema.get("oneOf"))]
