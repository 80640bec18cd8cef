"""A request held against the types of a provider's SDK."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError


def type_errors(adapter: TypeAdapter[Any], body: Any) -> list[str]:
    """Return where a body breaks its type, and how; nothing where it fits.

    The result is read to its end, because pydantic validates the items of an Iterable only when they are read.
    """
    try:
        _read(adapter.validate_python(body))
    except ValidationError as error:
        rows = error.errors(include_url=False, include_context=False, include_input=False)
        return sorted({f"{'.'.join(map(str, row['loc']))}: {row['msg']}" for row in rows})
    return []


def _read(value: Any) -> None:
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for part in value:
            _read(part)
