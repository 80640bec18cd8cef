"""Parse YAML as OpenAPI means it, to JSON's values alone: `no`, `on`, dates, `12:30`, `=` and all keys are texts.

The values are built from PyYAML's events, and their number is known before any is built: aliases and merges let a few
lines stand for billions. PyYAML's own constructor copies merged keys first, and holds three times the memory.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from router.tools.definitions.json_values import MAX_DEPTH, lenient_integer, replace_unstorable

_TAG = "tag:yaml.org,2002:"
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_FLOAT = re.compile(rf"{_NUMBER.pattern}|[-+]?\.inf|\.nan")  # with the tag !!float
_MERGE = object()  # the key `<<`


@dataclass(slots=True)
class _Built:
    """A value, how many values and characters it stands for with its aliases written out, and how deep it is nested.

    `text` is a scalar as it is written, for where it is a key.
    """

    value: Any
    values: int = 1
    characters: int = 0
    height: int = 0
    text: str | None = None


@dataclass(slots=True)
class _Open(_Built):
    """A list or a mapping that has begun. `key` is that of the next value; `merged` are the mappings under `<<`."""

    anchor: str | None = None
    key: Any = None
    has_key: bool = False
    merged: list[dict[str, Any]] = field(default_factory=list)


def parse_yaml(text: str, *, max_values: int, max_characters: int) -> Any:
    """Return the one value of a YAML text.

    Raises yaml.YAMLError, with the place, where it is no YAML or has types that JSON lacks; ValueError where it exceeds
    a limit, is nested more than MAX_DEPTH levels deep, or holds itself.
    """
    return _Builder(max_values, max_characters).build(yaml.parse(text, Loader=yaml.CSafeLoader))


class _Builder:
    def __init__(self, max_values: int, max_characters: int) -> None:
        self._limits = (max_values, max_characters)
        self._anchors: dict[str, _Built] = {}
        self._stack: list[_Open] = []
        self._documents: list[Any] = []

    def build(self, events: Iterator[Any]) -> Any:
        first: Any = None
        for event in events:
            if isinstance(event, yaml.ScalarEvent):
                self._scalar(event)
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._begin(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._end(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                if first is not None:
                    wanted, other = "expected a single document in the stream", "but found another document"
                    mark: Any = event.start_mark
                    raise ConstructorError(wanted, first, other, mark)
                first = event.start_mark
        return self._documents[0] if self._documents else None

    def _scalar(self, event: Any) -> None:
        is_key = self._awaits_key()
        value = _MERGE if is_key and _is_merge(event) else _scalar_value(event, is_key)
        built = _Built(value, 1, len(event.value), 0, event.value)
        if event.anchor:  # an alias of the key `<<` is a text
            self._anchors[event.anchor] = replace(built, value=event.value) if value is _MERGE else built
        self._add(built, event)

    def _alias(self, event: Any) -> None:
        built = self._anchors.get(event.anchor)
        if built is None:
            raise ConstructorError(None, None, f"found undefined alias {event.anchor[:80]!r}", event.start_mark)
        if isinstance(built, _Open) and any(built is opened for opened in self._stack):
            raise ValueError(f"the alias {event.anchor[:80]!r} stands within its own anchor: it has no end")
        self._add(built, event)

    def _begin(self, event: Any) -> None:
        kind = "map" if isinstance(event, yaml.MappingStartEvent) else "seq"
        if event.tag not in (None, "!", f"{_TAG}{kind}"):
            raise _unknown_tag(event)
        if self._awaits_key():
            raise ConstructorError("while constructing a mapping", None, "a key is a text", event.start_mark)
        if len(self._stack) >= MAX_DEPTH:
            raise _too_deep()
        opened = _Open({} if kind == "map" else [], anchor=event.anchor)
        if event.anchor:
            self._anchors[event.anchor] = opened
        self._stack.append(opened)

    def _end(self, event: Any) -> None:
        closed = self._stack.pop()
        if closed.merged:
            closed.value = {key: value for mapping in (*closed.merged, closed.value) for key, value in mapping.items()}
        self._add(closed, event)

    def _awaits_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1].value, dict) and not self._stack[-1].has_key

    def _add(self, built: _Built, event: Any) -> None:
        """Put a finished value into what holds it, and count it there."""
        if not self._stack:
            self._documents.append(built.value)
            return
        holder = self._stack[-1]
        holder.values += built.values
        holder.characters += built.characters
        holder.height = max(holder.height, built.height + 1)
        self._check(holder)
        if isinstance(holder.value, list):
            holder.value.append(built.value)
        elif not holder.has_key:
            holder.key, holder.has_key = _key(built, event), True
        elif holder.key is _MERGE:
            holder.merged += _mappings(built.value, event)
            holder.has_key = False
        else:
            holder.value[holder.key] = built.value
            holder.has_key = False

    def _check(self, holder: _Built) -> None:
        max_values, max_characters = self._limits
        if holder.values > max_values:
            raise ValueError(
                f"it stands for more than the {max_values:,} values of limits.document_values (aliases of aliases?)"
            )
        if holder.characters > max_characters:
            raise ValueError(
                f"it stands for more than the {max_characters:,} characters of limits.document_bytes, aliases written "
                "out"
            )
        if len(self._stack) + holder.height - 1 > MAX_DEPTH:
            raise _too_deep()


def _mappings(value: Any, event: Any) -> list[dict[str, Any]]:
    """Return what `<<` merges, the last first: earlier mappings win."""
    merged = value if isinstance(value, list) else [value]
    if not all(isinstance(mapping, dict) for mapping in merged):
        raise ConstructorError(
            "while constructing a mapping", None, "expected a mapping, or a list of them, for merging", event.start_mark
        )
    return merged[::-1]


def _key(built: _Built, event: Any) -> Any:
    """Return a key as it is written. Raises ConstructorError where it is an alias of a list or a mapping."""
    if built.value is _MERGE:
        return _MERGE
    if built.text is None:
        raise ConstructorError("while constructing a mapping", None, "a key is a text", event.start_mark)
    return replace_unstorable(built.text)


def _is_merge(event: Any) -> bool:
    return bool((event.value == "<<" and event.implicit[0]) or event.tag == f"{_TAG}merge")


def _scalar_value(event: Any, is_key: bool) -> Any:
    text, tag = event.value, event.tag
    if is_key or tag in ("!", f"{_TAG}str") or (tag is None and not event.implicit[0]):
        return replace_unstorable(text)  # `200` and `+1` are names, where they are keys
    if tag is None:
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.fullmatch(text):
            return lenient_integer(text)
        return float(text) if _NUMBER.fullmatch(text) else replace_unstorable(text)
    if tag == f"{_TAG}int" and _INTEGER.fullmatch(text):
        return lenient_integer(text)
    if tag == f"{_TAG}float" and _FLOAT.fullmatch(text):
        return float(text.replace(".inf", "inf").replace(".nan", "nan"))
    if tag in (f"{_TAG}bool", f"{_TAG}null") and text in _WORDS:
        return _WORDS[text]
    raise _unknown_tag(event)


def _unknown_tag(event: Any) -> ConstructorError:
    told = f"could not determine a constructor for the tag {str(event.tag)[:80]!r}"
    return ConstructorError(None, None, told, event.start_mark)


def _too_deep() -> ValueError:
    return ValueError(f"nested more than {MAX_DEPTH} levels deep")
