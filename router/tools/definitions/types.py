"""Types as people write them, in words and inside descriptions → JSON Schema.

>>> type_of("List[str], optional")
Typed({'type': 'array', 'items': {'type': 'string'}}, required=False)
>>> typed_text("(string) the city")
Typed({'type': 'string', 'description': 'the city'}, required=None)
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

JSON_TYPES = frozenset("string number integer boolean object array null".split())
# As Python, Java, Protocol Buffers and older drafts say it.
TYPE_ALIASES = {
    **dict.fromkeys("str text char date datetime date-time time uuid uri url email file binary".split(), "string"),
    **dict.fromkeys("int int32 int64 long".split(), "integer"),
    **dict.fromkeys("float double decimal".split(), "number"),
    "bool": "boolean",
    **dict.fromkeys("dict map json struct".split(), "object"),
    **dict.fromkeys("list tuple set".split(), "array"),
    "none": "null",
}
_FORMATS = {"date": "date", "datetime": "date-time", "date-time": "date-time", "uuid": "uuid", "email": "email"}
# Words that stand before a colon for no other reason than to name a type: "file: the path" names the thing.
_PLAIN = JSON_TYPES | {"str", "int", "float", "bool", "list", "dict"}
_FLAGS = {"required": True, "mandatory": True, "optional": False, "nullable": None}

_GENERIC = re.compile(r"^(\w+)\s*[\[<(](.*)[\]>)]$", re.DOTALL)
_CLASS = re.compile(r"^<class '(?:\w+\.)*(\w+)'>$")
_ARRAY_OF = re.compile(r"^(?:array|list)s? of ([\w-]+)$")
_DEFAULT = re.compile(r"^default(?:s to| is)?\s*[:= ]\s*(.+)$", re.IGNORECASE | re.DOTALL)
_CLOSED = {"(": ")", "[": "]", "<": ">", "{": "}"}
_AFTER_TYPE = re.compile(r"\s*(?::|\s[-–—]+\s)\s*")  # tried on the first characters alone: it is quadratic in spaces
_FLAG_FIRST = re.compile(r"^(required|optional)\s*[.:]\s+", re.IGNORECASE)
_LONGEST = 200  # characters of a type: what is longer is prose


@dataclass(frozen=True)
class ParsedType:
    """A schema, and whether the text says that the value is required; None where it does not say."""

    schema: dict[str, Any]
    required: bool | None = None


def parse_type(text: str) -> ParsedType | None:
    """Return what a type says ("int", "List[str], optional", "string | null"); None where a word of it is unknown."""
    if not 0 < len(text) <= _LONGEST:
        return None
    schema: dict[str, Any] | None = None
    required = default = None
    for part in _split(text, ",;"):
        word = part.strip().lower()
        if word in _FLAGS:
            required = _FLAGS[word] if required is None else required
        elif found := _DEFAULT.match(part.strip()):
            default = found[1].strip()
        elif schema is None and (found_schema := _expression(part.strip())) is not None:
            schema = found_schema
            required = False if schema.pop("optional", False) and required is None else required
        else:
            return None
    if schema is None and required is None:
        return None
    if default is not None:
        schema = {**(schema or {}), "default": _value(default)}
    return ParsedType(schema or {}, required)


def parse_typed_text(text: str, brackets: int = 2) -> ParsedType:
    """Return a parameter's text as a schema: the type where it names one beyond doubt, and the description.

    `brackets` is how many pairs of them may stand before the description, as in "(string) (optional) the city".
    """
    text = text.strip()
    if whole := parse_type(text):
        return whole if _is_plain(text) else ParsedType({**whole.schema, "description": text}, whole.required)
    if brackets and (inside := _first_in_brackets(text)):
        of_brackets, rest = inside
        further = parse_typed_text(rest, brackets - 1)
        required = further.required if of_brackets.required is None else of_brackets.required
        return ParsedType({**further.schema, **of_brackets.schema}, required)
    if separator := _AFTER_TYPE.search(text[:_LONGEST]):
        head = text[: separator.start()]
        if _is_plain(head) and (of_head := parse_type(head)):
            return ParsedType({**of_head.schema, "description": text[separator.end() :]}, of_head.required)
    if text[-2:].rstrip(".").endswith(")"):
        body, _, tail = text.rstrip(".").rpartition("(")
        if body.strip() and _is_plain(tail[:-1]) and (of_tail := parse_type(tail[:-1])):
            return ParsedType({**of_tail.schema, "description": body.strip()}, of_tail.required)
    flag = _FLAG_FIRST.match(text)
    return ParsedType({"description": text} if text else {}, _FLAGS[flag[1].lower()] if flag else None)


def _expression(text: str) -> dict[str, Any] | None:
    """One type without flags. `optional` in the answer says that it was written `Optional[…]` or `…?`."""
    if found := _CLASS.match(text):
        text = found[1]
    text = text.removeprefix("typing.")
    if text.endswith("?"):
        inner = _expression(text[:-1])
        return inner and {**inner, "optional": True}
    word = text.lower()
    if word in JSON_TYPES or word in TYPE_ALIASES:
        formatted = {"format": _FORMATS[word]} if word in _FORMATS else {}
        return {"type": TYPE_ALIASES.get(word, word), **formatted}
    if text.endswith("[]"):
        return _array(text[:-2])
    if found := _ARRAY_OF.match(word):
        return _array(found[1]) or _array(found[1].removesuffix("s"))
    alternatives = [part.strip() for part in re.split(r"\||\bor\b", text)] if _split(text, "|") else []
    if len(alternatives) > 1 and "[" not in text:
        return _union(alternatives)
    return _generic(found[1].lower(), found[2]) if (found := _GENERIC.match(text)) else None


def _generic(name: str, inside: str) -> dict[str, Any] | None:
    """`List[str]`, `Optional[int]`, `Union[str, None]`, `Literal['a', 'b']`, `dict[str, int]`."""
    parts = [part.strip() for part in _split(inside, ",")]
    if name == "optional":
        inner = _expression(inside.strip())
        return inner and {**inner, "optional": True}
    if name == "union":
        return _union(parts)
    if name in ("literal", "enum"):
        values = [_value(part) for part in parts]
        texts = all(isinstance(value, str) for value in values)
        return {"type": "string", "enum": values} if texts else {"enum": values}
    if name in ("list", "array", "set", "tuple", "sequence"):
        return _array(parts[0])
    return {"type": "object"} if name in ("dict", "map", "mapping", "object") else None


def _array(inner: str) -> dict[str, Any] | None:
    items = _expression(inner.strip())
    return None if items is None else {"type": "array", "items": items}


def _union(parts: list[str]) -> dict[str, Any] | None:
    found = [_expression(part) for part in parts]
    kinds = list(dict.fromkeys(schema["type"] for schema in found if schema and "type" in schema))
    if any(schema is None or set(schema) != {"type"} for schema in found):
        return None
    return {"type": kinds[0] if len(kinds) == 1 else kinds}


def _first_in_brackets(text: str) -> tuple[ParsedType, str] | None:
    """The type in the brackets that a text begins with, and what follows them."""
    closing = _CLOSED.get(text[:1])
    if closing is None:
        return None
    depth = 0
    for place, character in enumerate(text[: _LONGEST + 2]):
        depth += (character == text[0]) - (character == closing)
        if depth == 0:
            inside = parse_type(text[1:place])
            return (inside, text[place + 1 :].lstrip(" \t\n:-–—.,")) if inside else None
    return None


def _is_plain(text: str) -> bool:
    """Return whether each word of it names a type and can hardly name anything else."""
    words = re.findall(r"[A-Za-z][\w-]*", text.lower().partition("default")[0])
    return all(word in _PLAIN or word in _FLAGS or word in ("union", "or", "of", "literal") for word in words)


def _split(text: str, separators: str) -> list[str]:
    """The parts of a text, brackets kept whole."""
    return list(_parts(text, separators))


def _parts(text: str, separators: str) -> Iterator[str]:
    depth, start = 0, 0
    for place, character in enumerate(text):
        depth += (character in "([<{") - (character in ")]>}")
        if depth <= 0 and character in separators:
            yield text[start:place]
            start = place + 1
    yield text[start:]


def _value(text: str) -> Any:
    """A value as it is written in a type: JSON, else the text without its quotes."""
    try:
        value = json.loads(text)
    except ValueError:
        return text.strip("'\"`")
    return value if isinstance(value, str | int | float | bool | None) else text
