"""Write the body of a request: JSON, a form, or a text."""

import json
import re
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from quartermaster.calling.errors import CallRefused
from quartermaster.calling.styles import Pair, pairs, primitive_text
from router.operation import BodyField, OperationBody

_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]{1,100}/[\w!#$&^.+-]{1,100}")
_JSON = re.compile(r"application/(?:[\w.+-]+\+)?json", re.IGNORECASE)
_URLENCODED, _MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"


def body_of(body: OperationBody, arguments: Mapping[str, Any]) -> tuple[str, bytes] | None:
    """Return the content type and the bytes of a body; None where no argument makes one up and none is required.

    Raises CallRefused where the arguments have no form in the body's media type.
    """
    media_type = media_type_of(body)
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


def media_type_of(body: OperationBody) -> str:
    """Return the media type to send, without parameters: JSON where the document leaves it open."""
    declared = body.media_type.split(";")[0].strip().lower()
    if not declared or declared in ("*/*", "application/*"):
        return "application/json"
    if not _MEDIA_TYPE.fullmatch(declared):
        raise CallRefused("the document's media type of the body is none")
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


def _parts(field: BodyField, value: Any) -> Iterator[tuple[str, tuple[str | None, bytes, str | None]]]:
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


def _multipart(parts: list[tuple[str, tuple[str | None, bytes, str | None]]]) -> tuple[str, bytes]:
    import httpx2

    if not parts:  # httpx2 would write no body at all; this is an empty form
        boundary = secrets.token_hex(16)
        return f"multipart/form-data; boundary={boundary}", f"--{boundary}--\r\n".encode()
    request = httpx2.Request("POST", "http://unused.invalid", files=parts)
    return request.headers["content-type"], request.read()
