"""Parse YAML as OpenAPI means it, to JSON's values alone: `no`, `on`, dates, `12:30`, `=` and all keys are texts.

The values are built from PyYAML's events, and their number is known before any is built: aliases and merges let a few
lines stand for billions. PyYAML's own loader takes three times the time and four times the memory, and a text of
200,000 brackets ends the process.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
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


def parse_yaml(text: str, *, max_values: int, max_characters: int) -> Any:
    """Return the one value of a YAML text.

    Raises yaml.YAMLError, with the place, where it is no YAML or has types that JSON lacks; ValueError where it exceeds
    a limit, is nested more than MAX_DEPTH levels deep, or holds itself.
    """
    return _Builder(yaml.parse(text, Loader=yaml.CSafeLoader), max_values, max_characters).document()


class _Builder:
    def __init__(self, events: Iterator[Any], max_values: int, max_characters: int) -> None:
        self._events = events
        self._limits = (max_values, max_characters)
        self._anchors: dict[str, _Built | None] = {}  # None while the value has no end yet

    def document(self) -> Any:
        value: Any = None
        first: Any = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                mark: Any = event.start_mark
                if first is not None:
                    wanted, other = "expected a single document in the stream", "but found another document"
                    raise ConstructorError(wanted, first, other, mark)
                first = mark
                value = self._node(next(self._events), 0).value
        return value

    def _node(self, event: Any, depth: int, *, is_key: bool = False) -> _Built:
        """Build the value that begins with an event, inside of `depth` lists and mappings."""
        if isinstance(event, yaml.AliasEvent):
            return self._aliased(event)
        if isinstance(event, yaml.ScalarEvent):
            built = _Built(_scalar_value(event, is_key), 1, len(event.value), 0, event.value)
        else:
            is_mapping = isinstance(event, yaml.MappingStartEvent)
            if event.tag not in (None, "!", f"{_TAG}{'map' if is_mapping else 'seq'}"):
                raise _unknown_tag(event)
            if is_key:
                raise _no_text(event)
            if depth >= MAX_DEPTH:
                raise _too_deep()
            if event.anchor:
                self._anchors[event.anchor] = None
            built = self._mapping(depth + 1) if is_mapping else self._list(depth + 1)
        if event.anchor:
            self._anchors[event.anchor] = built
        return built

    def _aliased(self, event: Any) -> _Built:
        if event.anchor not in self._anchors:
            raise ConstructorError(None, None, f"found undefined alias {event.anchor[:80]!r}", event.start_mark)
        if (built := self._anchors[event.anchor]) is None:
            raise ValueError(f"the alias {event.anchor[:80]!r} stands within its own anchor: it has no end")
        return built

    def _list(self, depth: int) -> _Built:
        built = _Built([])
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            built.value.append(self._held(built, self._node(event, depth), depth))
        return built

    def _mapping(self, depth: int) -> _Built:
        built = _Built({})
        merged: list[dict[str, Any]] = []
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._node(event, depth, is_key=True)
            self._held(built, key, depth)
            event_of_value = next(self._events)
            value = self._held(built, self._node(event_of_value, depth), depth)
            if _is_merge(event):
                merged += _mappings(value, event_of_value)
            elif key.text is None:
                raise _no_text(event)
            else:
                built.value[replace_unstorable(key.text)] = value
        if merged:
            built.value = {name: value for mapping in (*merged, built.value) for name, value in mapping.items()}
        return built

    def _held(self, holder: _Built, built: _Built, depth: int) -> Any:
        """Count a value in what holds it, and return it."""
        max_values, max_characters = self._limits
        holder.values += built.values
        holder.characters += built.characters
        holder.height = max(holder.height, built.height + 1)
        if holder.values > max_values:
            raise ValueError(
                f"it stands for more than the {max_values:,} values of limits.document_values (aliases of aliases?)"
            )
        if holder.characters > max_characters:
            raise ValueError(
                f"it stands for more than the {max_characters:,} characters of limits.document_bytes, aliases written "
                "out"
            )
        if depth + holder.height - 1 > MAX_DEPTH:
            raise _too_deep()
        return built.value


def _mappings(value: Any, event: Any) -> list[dict[str, Any]]:
    """Return what `<<` merges, the last first: earlier mappings win."""
    merged = value if isinstance(value, list) else [value]
    if not all(isinstance(mapping, dict) for mapping in merged):
        raise ConstructorError(
            "while constructing a mapping", None, "expected a mapping, or a list of them, for merging", event.start_mark
        )
    return merged[::-1]


def _is_merge(event: Any) -> bool:
    if not isinstance(event, yaml.ScalarEvent):  # an alias of the key `<<` is a text
        return False
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


def _no_text(event: Any) -> ConstructorError:
    return ConstructorError("while constructing a mapping", None, "a key is a text", event.start_mark)


def _too_deep() -> ValueError:
    return ValueError(f"nested more than {MAX_DEPTH} levels deep")
