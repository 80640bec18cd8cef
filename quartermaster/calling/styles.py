"""Write values where OpenAPI puts them: in a path, a query, a header or a cookie (RFC 6570), and in a body.

They are percent-encoded, so that they cannot leave their place. What OpenAPI leaves undefined, such as a list within a
list, is refused; `deepObject` takes both, as most servers read them: `filter[tags][0]=new`.
"""

import json
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from quartermaster.calling.errors import CallRefused
from router.operation import BodyField, OperationBody, Style

Escape = Callable[[str], str]
Pair = tuple[str, str]  # of a query, a form or a cookie: escaped
_Part = tuple[str, tuple[str | None, bytes, str | None]]  # of a form: its name; file name, content, media type

_DELIMITERS: Mapping[str, str] = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
# Reserved characters that neither end a parameter nor are read as anything else within one.
_KEPT = ":/?@!$'()*,;"
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]{1,100}/[\w!#$&^.+-]{1,100}")
_JSON = re.compile(r"application/(?:[\w.+-]+\+)?json", re.IGNORECASE)
_URLENCODED, _MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
# They frame the request, or say who sends it: a value of a document or a model would change what is sent where.
_RESERVED = frozenset(
    "accept-encoding connection content-length cookie expect forwarded host keep-alive set-cookie te trailer "
    "transfer-encoding upgrade via x-http-method x-http-method-override x-method-override x-original-url x-real-ip "
    "x-rewrite-url".split()
)


def escape(text: str) -> str:
    """Return a text percent-encoded, but for letters, digits and `-._~`."""
    return quote(text, safe="")


def escape_reserved(text: str) -> str:
    """Return a query's text with reserved characters kept, but for those that would end it: `&`, `=`, `#`, `+`."""
    return quote(text, safe=_KEPT)


def expand(name: str, value: Any, style: Style, explode: bool, escape_value: Escape) -> str:
    """Return a value in the style `simple`, `label` or `matrix`. Raises CallRefused for values within values."""
    texts, key = _named_texts(name, value, escape_value), escape_value(name)
    delimiter, prefix = {
        "label": ("." if explode else ",", "."),
        "matrix": (";" if explode else ",", ";"),
    }.get(style, (_delimiter(style, escape_value), ""))
    if explode and isinstance(value, Mapping):
        return prefix + delimiter.join(f"{own}={text}" for own, text in texts)
    if explode and style == "matrix" and isinstance(value, list | tuple):
        return "".join(f";{key}={text}" for _, text in texts)
    joined = delimiter.join(word for pair in texts for word in pair if word is not None)
    if style == "matrix":
        return f";{key}={joined}" if joined else f";{key}"
    return prefix + joined


def pairs(name: str, value: Any, style: Style, explode: bool, escape_value: Escape = escape) -> Iterator[Pair]:
    """Yield the names and values of a parameter of a query, a form or a cookie. Raises CallRefused."""
    key = escape(name)
    if style == "deepObject":
        yield from _deep(name, key, value, escape_value)
        return
    texts = _named_texts(name, value, escape_value)
    if explode or not isinstance(value, Mapping | list | tuple):
        yield from ((key if own is None else own, text) for own, text in texts)
    elif texts:
        yield key, _delimiter(style, escape_value).join(word for pair in texts for word in pair if word is not None)


def _named_texts(name: str, value: Any, escape_value: Escape) -> list[tuple[str | None, str]]:
    """Return a value's texts, each with the property's name or None; null has no form here, so it is left out."""
    if isinstance(value, Mapping):
        given = ((key, item) for key, item in value.items() if item is not None)
        return [(escape(key), escape_value(primitive_text(f"{name}.{key}", item))) for key, item in given]
    items = value if isinstance(value, list | tuple) else [value]
    return [(None, escape_value(primitive_text(name, item))) for item in items if item is not None]


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


def _deep(name: str, key: str, value: Any, escape_value: Escape) -> Iterator[Pair]:
    if isinstance(value, Mapping):
        for part, item in value.items():
            yield from _deep(f"{name}.{part}", f"{key}%5B{escape(part)}%5D", item, escape_value)
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from _deep(name, f"{key}%5B{place}%5D", item, escape_value)
    elif value is not None:
        yield key, escape_value(primitive_text(name, value))


def body_of(body: OperationBody, arguments: Mapping[str, Any]) -> tuple[str, bytes] | None:
    """Return the content type and the bytes of a body; None where no argument makes one up and none is required.

    Raises CallRefused where the arguments have no form in the body's media type.
    """
    media_type = _media_type_of(body)
    fields = [field for field in body.fields if field.argument in arguments]
    is_given = body.argument in arguments if body.argument else bool(fields)
    if not is_given and not body.required:
        return None
    if _JSON.fullmatch(media_type):
        whole = arguments.get(body.argument) if body.argument else {f.wire_name: arguments[f.argument] for f in fields}
        return media_type, json.dumps(whole, ensure_ascii=False, allow_nan=False).encode()
    if media_type == _URLENCODED:
        form = (pair for field, value in _form(body, fields, arguments) for pair in _pairs(field, value))
        return media_type, "&".join(f"{key}={value}" for key, value in form).encode()
    if media_type == _MULTIPART:
        return _multipart([part for field, value in _form(body, fields, arguments) for part in _parts(field, value)])
    value = arguments.get(body.argument) if body.argument else None
    if isinstance(value, str):  # XML, plain text, a script
        return f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type, value.encode()
    raise CallRefused(f"a body of {media_type} cannot be made of these arguments: only JSON, forms and texts can")


def _media_type_of(body: OperationBody) -> str:
    """Return the media type to send, without parameters: JSON where the document leaves it open. Raises CallRefused."""
    declared = body.media_type.split(";")[0].strip().lower()
    if not declared or declared in ("*/*", "application/*"):
        return "application/json"
    if not _MEDIA_TYPE.fullmatch(declared):
        raise CallRefused("the document's media type of the body is not valid")
    return declared


def _form(
    body: OperationBody, fields: list[BodyField], arguments: Mapping[str, Any]
) -> Iterator[tuple[BodyField, Any]]:
    """Yield the fields of a form with their values. A whole argument is an object of fields."""
    if not body.argument:
        yield from ((field, arguments[field.argument]) for field in fields if arguments[field.argument] is not None)
        return
    whole = arguments.get(body.argument) or {}
    if not isinstance(whole, Mapping):
        raise CallRefused(f"{body.argument} is sent as a form: give an object of its fields")
    yield from ((BodyField(str(name)), value) for name, value in whole.items() if value is not None)


def _pairs(field: BodyField, value: Any) -> Iterator[Pair]:
    if field.style:
        return pairs(field.wire_name, value, field.style, field.explode)
    return (pair for one in _texts(field, value) for pair in pairs(field.wire_name, one, "form", True))


def _texts(field: BodyField, value: Any) -> list[str]:
    """Return a field's values as texts: a list item by item, an object as JSON."""
    values = value if isinstance(value, list) else [value]
    return [
        json.dumps(one, ensure_ascii=False) if isinstance(one, dict | list) else primitive_text(field.wire_name, one)
        for one in values
        if one is not None
    ]


def _parts(field: BodyField, value: Any) -> Iterator[_Part]:
    media_type = field.media_type if _MEDIA_TYPE.fullmatch(field.media_type) else None
    if field.style and not field.explode:
        texts = [text for _, text in pairs(field.wire_name, value, field.style, False, lambda text: text)]
    else:
        texts = _texts(field, value)
    for text in texts:
        if field.is_file:
            yield field.wire_name, (field.wire_name, text.encode(), media_type or "application/octet-stream")
        else:
            is_json = isinstance(value, dict) and media_type is None
            yield field.wire_name, (None, text.encode(), "application/json" if is_json else media_type)


def _multipart(parts: list[_Part]) -> tuple[str, bytes]:
    import httpx2

    if not parts:  # httpx2 would write no body at all; this is an empty form
        boundary = secrets.token_hex(16)
        return f"multipart/form-data; boundary={boundary}", f"--{boundary}--\r\n".encode()
    request = httpx2.Request("POST", "http://unused.invalid", files=parts)
    return request.headers["content-type"], request.read()


def is_token(name: str) -> bool:
    """Return whether a text may be the name of a header or a cookie."""
    return _TOKEN.fullmatch(name) is not None


def header_problem(name: str, value: str) -> str:
    """Return why a header cannot be sent, without its value; empty where it can."""
    if not is_token(name):
        return "it is not a valid name"
    plain = name.lower().replace("_", "-")  # many servers read both alike
    if plain in _RESERVED or plain.startswith(("proxy-", "x-forwarded-")):
        return "this header is the client's own: it cannot be set"
    if not value.isascii() or not value.isprintable():
        return "a header cannot hold line breaks, control characters or characters outside of ASCII"
    if value != value.strip():
        return "a header's value cannot begin or end with a space"
    return ""
