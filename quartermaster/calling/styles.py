"""Write a value in the styles of OpenAPI (RFC 6570): percent-encoded, so that it cannot leave its place.

What OpenAPI leaves undefined, such as a list within a list, is refused; `deepObject` takes both, as most servers read
them: `filter[tags][0]=new`.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from quartermaster.calling.errors import CallRefused
from router.operation import Style

Escape = Callable[[str], str]
Pair = tuple[str, str]  # of a query, a form or a cookie: escaped
_DELIMITERS: Mapping[str, str] = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
# Reserved characters that neither end a parameter nor are read as anything else within one.
_KEPT = ":/?@!$'()*,;"


def escape(text: str) -> str:
    """Return a text in which only letters, digits and `-._~` stand for themselves."""
    return quote(text, safe="")


def escape_reserved(text: str) -> str:
    """Return a query's text with reserved characters kept, but for those that would end it: `&`, `=`, `#`, `+`."""
    return quote(text, safe=_KEPT)


def expand(name: str, value: Any, style: Style, explode: bool, escape: Escape) -> str:
    """Return a value in the style `simple`, `label` or `matrix`. Raises CallRefused for values within values."""
    delimiter, prefix = {
        "label": ("." if explode else ",", "."),
        "matrix": (";" if explode else ",", ";"),
    }.get(style, (_delimiter(style, escape), ""))
    key = escape(name)
    if isinstance(value, Mapping):
        properties = _properties(name, value, escape)
        if explode:
            return prefix + delimiter.join(f"{part}={text}" for part, text in properties)
        items = [part for pair in properties for part in pair]
    elif isinstance(value, list | tuple):
        items = _items(name, value, escape)
        if style == "matrix" and explode:
            return "".join(f";{key}={item}" for item in items)
    else:
        items = [escape(primitive_text(name, value))]
    text = delimiter.join(items)
    if style == "matrix":
        return f";{key}={text}" if text else f";{key}"
    return prefix + text


def pairs(name: str, value: Any, style: Style, explode: bool, escape_value: Escape = escape) -> Iterator[Pair]:
    """Yield the names and values of a parameter of a query, a form or a cookie. Raises CallRefused."""
    key = escape(name)
    if style == "deepObject":
        yield from _deep(name, key, value, escape_value)
    elif isinstance(value, Mapping):
        properties = _properties(name, value, escape_value)
        if explode:
            yield from properties
        elif properties:
            yield key, _delimiter(style, escape_value).join(part for pair in properties for part in pair)
    elif isinstance(value, list | tuple):
        items = _items(name, value, escape_value)
        if explode:
            yield from ((key, item) for item in items)
        elif items:
            yield key, _delimiter(style, escape_value).join(items)
    else:
        yield key, escape_value(primitive_text(name, value))


def primitive_text(name: str, value: Any) -> str:
    """Return a text, a number or a truth value as text. Raises CallRefused for lists, objects and null."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))  # models write 3.0 where an integer is asked for
    if isinstance(value, int | float):
        return json.dumps(value)
    raise CallRefused(f"{name}: OpenAPI does not say how a value within a value is sent here: give plain values")


def _delimiter(style: Style, escape_value: Escape) -> str:
    return escape_value(_DELIMITERS[style]) if style in _DELIMITERS else ","


def _items(name: str, values: list[Any] | tuple[Any, ...], escape: Escape) -> list[str]:
    """Return the items of a list; null has no form here, so it is left out."""
    return [escape(primitive_text(name, value)) for value in values if value is not None]


def _properties(name: str, value: Mapping[str, Any], escape_value: Escape) -> list[Pair]:
    given = ((key, item) for key, item in value.items() if item is not None)
    return [(escape(key), escape_value(primitive_text(f"{name}.{key}", item))) for key, item in given]


def _deep(name: str, key: str, value: Any, escape_value: Escape) -> Iterator[Pair]:
    if isinstance(value, Mapping):
        for part, item in value.items():
            yield from _deep(f"{name}.{part}", f"{key}%5B{escape(part)}%5D", item, escape_value)
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from _deep(name, f"{key}%5B{place}%5D", item, escape_value)
    elif value is not None:
        yield key, escape_value(primitive_text(name, value))
