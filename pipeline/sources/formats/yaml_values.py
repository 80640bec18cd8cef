"""Parse YAML as OpenAPI means it, to values that JSON has: `no`, `on`, dates, `12:30`, `=` and all keys are texts.

The values are built from PyYAML's events and counted before they are built: aliases and merges let a few lines stand
for billions. PyYAML's own loader takes three times the time and four times the memory, and a text of 200,000 brackets
ends the process.
"""

import re
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from pipeline.settings import LimitsSettings
from pipeline.sources.formats.repeated_keys import RepeatedKeys
from router.tools.definitions.json_values import MAX_DEPTH, lenient_integer, replace_unstorable

_TAG = "tag:yaml.org,2002:"
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# Under these keys a scalar is a name or a text, and in these lists; what stands under the others is somebody's data.
_NAMES = frozenset("name operationId title summary description".split())
_LISTS_OF_NAMES = ("required", "tags")
_LITERAL = frozenset("default enum const example examples".split())
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_FLOAT = re.compile(rf"{_NUMBER.pattern}|[-+]?\.inf|\.nan")  # with the tag !!float


def parse_yaml(text: str, limits: LimitsSettings, repeats: RepeatedKeys | None = None) -> Any:
    """Return the one value of a YAML text; `repeats` notes its repeated keys.

    Raises yaml.YAMLError, with the place, where it is not YAML or has types that JSON lacks; ValueError where it
    exceeds a limit, is nested more than MAX_DEPTH levels deep, or holds itself.
    """
    builder = _Builder(text, limits, repeats or RepeatedKeys())
    value: Any = None
    first: Any = None
    for event in builder.events:
        if isinstance(event, yaml.DocumentStartEvent):
            if first is not None:
                wanted, found = "expected a single document in the stream", "but found another document"
                raise ConstructorError(wanted, first.start_mark, found, event.start_mark)  # type: ignore[arg-type]
            first = event
            value, _ = builder.node(next(builder.events), 0)
    return value


@dataclass(frozen=True, slots=True)
class _Anchored:
    """A value with an anchor, its text where it is a scalar, and what each alias of it stands for."""

    value: Any
    text: str | None
    values: int
    characters: int
    levels: int


class _Builder:
    def __init__(self, text: str, limits: LimitsSettings, repeats: RepeatedKeys) -> None:
        self.events = yaml.parse(text, Loader=yaml.CSafeLoader)
        self._limits, self._repeats = limits, repeats
        self._values = self._characters = self._deepest = 0  # so far, aliases written out
        self._anchors: dict[str, _Anchored | None] = {}  # None while the value has no end yet

    def node(self, event: Any, depth: int, under: str = "", *, is_key: bool = False) -> tuple[Any, str | None]:
        """Build the value that begins with an event, inside of `depth` lists and mappings, `under` a key.

        Return it with its text, as it is written, where it is a scalar.
        """
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, depth)
        values, characters, deepest = self._values, self._characters, self._deepest
        self._deepest = depth
        if isinstance(event, yaml.ScalarEvent):
            text = event.value
            self._count(1, len(text), depth)
            value = _scalar(event, is_key)
        else:
            text, value = None, self._collection(event, depth, under, is_key)
        if event.anchor:
            stands_for = self._values - values, self._characters - characters, self._deepest - depth
            self._anchors[event.anchor] = _Anchored(value, text, *stands_for)
        self._deepest = max(deepest, self._deepest)
        return value, text

    def _alias(self, event: Any, depth: int) -> tuple[Any, str | None]:
        if event.anchor not in self._anchors:
            raise _refused(event, f"found undefined alias {event.anchor[:80]!r}")
        if (found := self._anchors[event.anchor]) is None:
            raise ValueError(f"the alias {event.anchor[:80]!r} stands within its own anchor: it has no end")
        self._count(found.values, found.characters, depth + found.levels)
        return found.value, found.text

    def _collection(self, event: Any, depth: int, under: str, is_key: bool) -> Any:
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        if event.tag not in (None, "!", f"{_TAG}{'map' if is_mapping else 'seq'}"):
            raise _unknown_tag(event)
        if is_key:
            raise _refused(event, "a key is a text")
        if event.anchor:
            self._anchors[event.anchor] = None
        self._count(1, 0, depth + 1)
        if is_mapping:
            return self._mapping(depth + 1, under)
        items = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            value, text = self.node(event, depth + 1, under)
            items.append(_named(value, text) if under in _LISTS_OF_NAMES else value)
        return items

    def _mapping(self, depth: int, under: str) -> dict[str, Any]:
        pairs: list[tuple[str, Any]] = []
        merged: list[dict[str, Any]] = []  # the last of a list first: earlier mappings win
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            _, key = self.node(event, depth, is_key=True)
            event_of_value = next(self.events)
            value, text = self.node(event_of_value, depth, under if under in _LITERAL else key or "")
            if _is_merge(event):
                mappings = value if isinstance(value, list) else [value]
                if not all(isinstance(mapping, dict) for mapping in mappings):
                    raise _refused(event_of_value, "expected a mapping, or a list of them, for merging")
                merged += mappings[::-1]
            elif key is None:
                raise _refused(event, "a key is a text")
            else:
                is_name = key in _NAMES and under not in (*_LITERAL, "properties")
                pairs.append((replace_unstorable(key), _named(value, text) if is_name else value))
        built = self._repeats.object_of(pairs)
        return {name: value for mapping in (*merged, built) for name, value in mapping.items()} if merged else built

    def _count(self, values: int, characters: int, levels: int) -> None:
        """Count what a node stands for, down to so many levels. Raises ValueError where that is too much."""
        self._values += values
        self._characters += characters
        self._deepest = max(self._deepest, levels)
        if self._values > (most := self._limits.document_values):
            raise ValueError(f"it stands for more than the {most:,} values of limits.document_values")
        if self._characters > (most := self._limits.document_bytes):
            raise ValueError(
                f"it stands for more than the {most:,} characters of limits.document_bytes, aliases written out"
            )
        if levels > MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} levels deep")


def _named(value: Any, text: str | None) -> Any:
    """Return a name as it is written, such as 404, true or 1.10; null is none."""
    return value if text is None or value is None else replace_unstorable(text)


def _is_merge(event: Any) -> bool:
    if not isinstance(event, yaml.ScalarEvent):  # an alias of the key `<<` is a text
        return False
    return bool((event.value == "<<" and event.implicit[0]) or event.tag == f"{_TAG}merge")


def _scalar(event: Any, is_key: bool) -> Any:
    text, tag = event.value, event.tag
    if is_key or tag in ("!", f"{_TAG}str") or (tag is None and not event.implicit[0]):
        return replace_unstorable(text)  # `200` and `+1` are names, where they are keys
    if text in _WORDS and tag in (None, f"{_TAG}bool", f"{_TAG}null"):
        return _WORDS[text]
    if tag in (None, f"{_TAG}int") and _INTEGER.fullmatch(text):
        return lenient_integer(text)
    if tag is None:
        return float(text) if _NUMBER.fullmatch(text) else replace_unstorable(text)
    if tag == f"{_TAG}float" and _FLOAT.fullmatch(text):
        return float(text.replace(".inf", "inf").replace(".nan", "nan"))
    raise _unknown_tag(event)


def _unknown_tag(event: Any) -> ConstructorError:
    return _refused(event, f"could not determine a constructor for the tag {str(event.tag)[:80]!r}")


def _refused(event: Any, why: str) -> ConstructorError:
    return ConstructorError(None, None, why, event.start_mark)
