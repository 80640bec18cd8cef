"""The record as an agent's model may read it: without steering text, with a note of what was left out."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from router.record import ToolRecord
from router.tools.definitions.json_values import escape_pointer_part
from router.tools.definitions.rows import parameter_rows
from router.tools.trust.characters import strip_hidden
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


@dataclass(frozen=True, slots=True)
class WithheldPart:
    """A part of a schema that was left out: its JSON pointer, and why.

    `is_needed` says that it is the name of a required parameter, so that the tool cannot be called rightly.
    """

    pointer: str
    finding: Finding
    is_needed: bool = False


def trusted_schema(schema: Any) -> tuple[Any, tuple[WithheldPart, ...]]:
    """Return a schema without what cannot be trusted, and what was left out. An honest schema is returned itself."""
    reading = _Reading()
    return reading.schema(schema, "", 0), tuple(reading.withheld)


@dataclass
class _Reading:
    """Walks one schema, and collects what it leaves out. Unchanged parts are shared with the original."""

    withheld: list[WithheldPart] = field(default_factory=list)

    def schema(self, schema: Any, pointer: str, depth: int) -> Any:
        """Return a part of a schema at a pointer."""
        if isinstance(schema, str):  # some vendors write {"city": "the city's name"}
            return self._prose(schema, pointer)
        if not isinstance(schema, Mapping | list):
            return schema
        if depth > _MAX_DEPTH:
            return {}
        if isinstance(schema, list):
            branches = [self.schema(part, f"{pointer}/{place}", depth + 1) for place, part in enumerate(schema)]
            return schema if _same(branches, schema) else branches
        kept: dict[Any, Any] = {}
        for keyword, value in schema.items():
            place = f"{pointer}/{escape_pointer_part(str(keyword))}"
            if keyword in _NAMED and isinstance(value, Mapping):
                kept[keyword] = self._named(value, place, schema.get("required"), depth + 1)
            elif keyword in _NESTED:
                kept[keyword] = self.schema(value, place, depth + 1)
            elif keyword in _PROSE and isinstance(value, str):
                if (text := self._prose(value, place)) or not value:
                    kept[keyword] = text
            elif keyword == "required" and isinstance(value, list):
                kept[keyword] = value  # those of withheld names go below
            elif self._is_clean(keyword, pointer) and self._is_clean(value, place):
                kept[keyword] = value
        kept = _without_withheld_names(kept, schema)
        return schema if len(kept) == len(schema) and _same(kept.values(), schema.values()) else kept

    def _named(self, parts: Mapping[Any, Any], pointer: str, required: Any, depth: int) -> Mapping[Any, Any]:
        """Return schemas by name, without the names that cannot be trusted."""
        kept = {}
        for name, child in parts.items():
            finding = untrusted(name)
            if finding is None:
                kept[name] = self.schema(child, f"{pointer}/{escape_pointer_part(str(name))}", depth)
            else:
                needed = pointer.endswith("/properties") and isinstance(required, list) and name in required
                self.withheld.append(WithheldPart(pointer, finding, needed))
        return parts if len(kept) == len(parts) and _same(kept.values(), parts.values()) else kept

    def _prose(self, text: str, pointer: str) -> str:
        kept, hits = sanitize_text(text)
        self.withheld.extend(WithheldPart(pointer, finding) for _, finding in hits)
        return text if kept == text else kept  # its cache may hold an equal text, which is another object

    def _is_clean(self, value: Any, pointer: str) -> bool:
        """Return whether a value can be trusted whole; note it as withheld where not."""
        finding = untrusted(value)
        if finding is not None:
            self.withheld.append(WithheldPart(pointer, finding))
        return finding is None


def untrusted(value: Any) -> Finding | None:
    """Return the first steering text or hidden character in a value at any depth; None where there is none."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            if finding := _untrusted_text(part):
                return finding
        elif isinstance(part, Mapping):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple):
            waiting += part
    return None


def _untrusted_text(text: str) -> Finding | None:
    if len(text) < _SHORTEST_ORDER and text.isascii() and text.isalnum():  # most keywords, names and types
        return None
    _, hits = sanitize_text(text)
    if hits:
        return hits[0][1]
    visible = strip_hidden(text)
    return None if visible == text else Finding("hidden", "hidden characters")


def _without_withheld_names(kept: dict[Any, Any], schema: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a schema whose `required` has no name that cannot be trusted."""
    required = schema.get("required")
    if not isinstance(required, list):
        return kept
    names = [name for name in required if untrusted(name) is None]
    return kept if len(names) == len(required) else {**kept, "required": names}


def _same(parts: Any, originals: Any) -> bool:
    return all(part is original for part, original in zip(parts, originals, strict=True))


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
        return {"field": self.field, "check": self.check, "reason": self.reason}


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


def trusted_record(record: ToolRecord) -> TrustedRecord:
    """Return a record as it is handed to a model. The original stays as it is, for people and for calls."""
    unusable = _unusable_name(record)
    description, hits = sanitize_text(record.description)
    withheld = [_withheld("description", finding) for _, finding in hits]
    schema, parts = trusted_schema(record.input_schema)
    withheld += [_withheld(f"/input_schema{part.pointer}", part.finding) for part in parts]
    if any(part.is_needed for part in parts):
        unusable = unusable or "a required parameter's name hides characters or orders the model about"
    changes: dict[str, Any] = {}
    if description != record.description:
        changes["description"] = description
    if schema is not record.input_schema:
        changes |= {"input_schema": schema, "parameters": parameter_rows(schema)}
    for name in ("examples", "categories"):
        texts, findings = _clean_values(getattr(record, name))
        if findings:
            changes[name] = texts
            withheld += [_withheld(name, finding) for finding in findings]
    if record.provider is not None and (finding := untrusted(record.provider)):
        changes["provider"] = None
        withheld.append(_withheld("provider", finding))
    if finding := untrusted(record.origin.pointer):
        changes["origin"] = replace(record.origin, pointer="")
        withheld.append(_withheld("origin", finding))
    annotations, findings = _clean_annotations(record.annotations)
    if findings:
        changes["annotations"] = annotations
        withheld += [_withheld("annotations", finding) for finding in findings]
    shown = replace(record, **changes) if changes else record
    return TrustedRecord(shown, tuple(dict.fromkeys(withheld)), unusable)


def trusted_text(text: str) -> str:
    """Return a text of a stranger's, such as an error message, as a model may read it; a note where nothing is left."""
    kept, hits = sanitize_text(text)
    return kept or (f"(left out: {_REASONS[hits[0][1].check]})" if hits else "")


def _unusable_name(record: ToolRecord) -> str:
    """Return why a tool's own id or name cannot be shown to a model; empty for any honest one."""
    for label, text in (("id", record.tool_id), ("name", record.name)):
        if finding := untrusted(text):
            return f"the tool's {label} cannot be shown: {_REASONS[finding.check]}"
    return ""


def _withheld(field: str, finding: Finding) -> WithheldText:
    return WithheldText(strip_hidden(field), finding.check, _REASONS[finding.check])


def _clean_values(texts: tuple[str, ...]) -> tuple[tuple[str, ...], list[Finding]]:
    findings = [untrusted(text) for text in texts]
    kept = tuple(text for text, finding in zip(texts, findings, strict=True) if finding is None)
    return kept, [finding for finding in findings if finding]


def _clean_annotations(annotations: Mapping[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    findings = {name: untrusted([name, value]) for name, value in annotations.items()}
    kept = {name: value for name, value in annotations.items() if findings[name] is None}
    return kept, [finding for finding in findings.values() if finding]


def visible_value(value: Any) -> Any:
    """Return a JSON value without hidden characters in its texts; a key that hides some shows them by code point."""
    if isinstance(value, str):
        return strip_hidden(value)
    if isinstance(value, Mapping):
        return {_visible_key(key): visible_value(part) for key, part in value.items()}
    return [visible_value(part) for part in value] if isinstance(value, list | tuple) else value


def _visible_key(key: Any) -> Any:
    """Return a key as it is, or with its hidden characters written out: keys that differ stay different."""
    if not isinstance(key, str) or strip_hidden(key) == key:
        return key
    return "".join(c if strip_hidden(c) == c else f"<U+{ord(c):04X}>" for c in key)
