"""Parses types as people write them, in words and inside descriptions, into JSON Schema.

>>> parse_type("List[str], optional")
ParsedType({'type': 'array', 'items': {'type': 'string'}}, required=False)
>>> parse_typed_text("(string) the city")
ParsedType({'type': 'string', 'description': 'the city'}, required=None)
"""

import json
import re
from dataclasses import dataclass
from typing import Any

JSON_TYPES = frozenset("string number integer boolean object array null".split())
# Names of types in Python, Java, Protocol Buffers and older drafts.
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
# Words that before a colon can only name a type, unlike "file: the path".
_UNAMBIGUOUS = JSON_TYPES | {"str", "int", "float", "bool", "list", "dict"}
_FLAGS = {"required": True, "mandatory": True, "optional": False, "nullable": None}

_GENERIC = re.compile(r"^(\w+)\s*[\[<(](.*)[\]>)]$", re.DOTALL)
_CLASS = re.compile(r"^<class '(?:\w+\.)*(\w+)'>$")
_ARRAY_OF = re.compile(r"^(?:array|list)s? of ([\w-]+)$")
_DEFAULT = re.compile(r"^default(?:s to| is)?\s*[:= ]\s*(.+)$", re.IGNORECASE | re.DOTALL)
_CLOSED = {"(": ")", "[": "]", "<": ">", "{": "}"}
_AFTER_TYPE = re.compile(r"(?<!\s)\s*(?::|\s[-–—]+\s)\s*")
_FLAG_FIRST = re.compile(r"^(required|optional)\s*[.:]\s+", re.IGNORECASE)
_MAX_LENGTH = 200  # characters of a type: longer texts are prose


@dataclass(frozen=True)
class ParsedType:
    """A schema, and whether the value is required; None where the text does not say."""

    schema: dict[str, Any]
    required: bool | None = None


def parse_type(text: str) -> ParsedType | None:
    """Parse a type ("int", "List[str], optional", "string | null"); None where a word of it is unknown."""
    if not 0 < len(text) <= _MAX_LENGTH:
        return None
    schema: dict[str, Any] | None = None
    required = default = None
    for part in map(str.strip, _split(text, ",;")):
        if part.lower() in _FLAGS:
            required = _FLAGS[part.lower()] if required is None else required
        elif match := _DEFAULT.match(part):
            default = match[1].strip()
        elif schema is None and (schema := _parse_expression(part)) is not None:
            required = False if schema.pop("optional", False) and required is None else required
        else:
            return None
    if schema is None and required is None:
        return None
    with_default = {} if default is None else {"default": _parse_value(default)}
    return ParsedType({**(schema or {}), **with_default}, required)


def parse_typed_text(text: str, brackets: int = 2) -> ParsedType:
    """Parse a parameter's text into a schema: the type, if it certainly names one, and the description.

    `brackets` is the number of bracketed parts allowed before the description, as in "(string) (optional) the city".
    """
    text = text.strip()
    if whole := parse_type(text):
        return whole if _is_unambiguous(text) else ParsedType({**whole.schema, "description": text}, whole.required)
    if brackets and (inside := _first_in_brackets(text)):
        in_brackets, rest = inside
        after = parse_typed_text(rest, brackets - 1)
        required = after.required if in_brackets.required is None else in_brackets.required
        return ParsedType({**after.schema, **in_brackets.schema}, required)
    separator = _AFTER_TYPE.search(text[:_MAX_LENGTH])
    candidates = [(text[: separator.start()], text[separator.end() :])] if separator else []
    if text[-2:].rstrip(".").endswith(")"):
        body, _, tail = text.rstrip(".").rpartition("(")
        candidates += [(tail[:-1], body.strip())] if body.strip() else []
    for kind, description in candidates:
        if _is_unambiguous(kind) and (parsed := parse_type(kind)):
            return ParsedType({**parsed.schema, "description": description}, parsed.required)
    flag = _FLAG_FIRST.match(text)
    return ParsedType({"description": text} if text else {}, _FLAGS[flag[1].lower()] if flag else None)


def _parse_expression(text: str) -> dict[str, Any] | None:
    """Parse one type without flags; None if it is unknown. `Optional[…]` and `…?` give the extra key `optional`."""
    if match := _CLASS.match(text):
        text = match[1]
    text = text.removeprefix("typing.")
    if text.endswith("?"):
        return _optional(text[:-1])
    word = text.lower()
    if word in JSON_TYPES or word in TYPE_ALIASES:
        formatted = {"format": _FORMATS[word]} if word in _FORMATS else {}
        return {"type": TYPE_ALIASES.get(word, word), **formatted}
    if text.endswith("[]"):
        return _array(text[:-2])
    if match := _ARRAY_OF.match(word):
        return _array(match[1]) or _array(match[1].removesuffix("s"))
    alternatives = [part.strip() for part in re.split(r"\||\bor\b", text)]
    if len(alternatives) > 1 and "[" not in text:
        return _union(alternatives)
    if not (match := _GENERIC.match(text)):
        return None
    # `List[str]`, `Optional[int]`, `Union[str, None]`, `Literal['a', 'b']` or `dict[str, int]`.
    name, inside = match[1].lower(), match[2]
    parts = [part.strip() for part in _split(inside, ",")]
    if name == "optional":
        return _optional(inside.strip())
    if name == "union":
        return _union(parts)
    if name in ("literal", "enum"):
        values = [_parse_value(part) for part in parts]
        return {"type": "string", "enum": values} if all(isinstance(v, str) for v in values) else {"enum": values}
    if name in ("list", "array", "set", "tuple", "sequence"):
        return _array(parts[0])
    return {"type": "object"} if name in ("dict", "map", "mapping", "object") else None


def _optional(inner: str) -> dict[str, Any] | None:
    schema = _parse_expression(inner)
    return schema and {**schema, "optional": True}


def _array(inner: str) -> dict[str, Any] | None:
    items = _parse_expression(inner.strip())
    return None if items is None else {"type": "array", "items": items}


def _union(parts: list[str]) -> dict[str, Any] | None:
    schemas = [_parse_expression(part) for part in parts]
    kinds = list(dict.fromkeys(schema["type"] for schema in schemas if schema and schema.keys() == {"type"}))
    if any(schema is None or schema.keys() != {"type"} for schema in schemas):
        return None
    return {"type": kinds[0] if len(kinds) == 1 else kinds}


def _first_in_brackets(text: str) -> tuple[ParsedType, str] | None:
    """Return the type in the brackets that a text begins with, and the rest of the text; None where there is none."""
    closing, depth = _CLOSED.get(text[:1]), 0
    for place, character in enumerate(text[: _MAX_LENGTH + 2] if closing else ""):
        depth += (character == text[0]) - (character == closing)
        if depth == 0:
            inside = parse_type(text[1:place])
            return (inside, text[place + 1 :].lstrip(" \t\n:-–—.,")) if inside else None
    return None


def _is_unambiguous(text: str) -> bool:
    """Return whether each word of a text names a type and hardly anything else."""
    words = re.findall(r"[A-Za-z][\w-]*", text.lower().partition("default")[0])
    return all(word in _UNAMBIGUOUS or word in _FLAGS or word in ("union", "or", "of", "literal") for word in words)


def _split(text: str, separators: str) -> list[str]:
    """Return the parts of a text between separators that are outside brackets."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text):
        depth += (character in "([<{") - (character in ")]>}")
        if depth <= 0 and character in separators:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


def _parse_value(text: str) -> Any:
    """Return a value in a type: a JSON scalar, else the text without its quotes."""
    try:
        value = json.loads(text)
    except ValueError:
        return text.strip("'\"`")
    return value if isinstance(value, str | int | float | bool | None) else text
