"""The fingerprint of a value too large to be written as one JSON text: its parts are hashed as they come."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from router.fingerprint import canonical_json


@dataclass(frozen=True, slots=True)
class Streamed:
    """Stands for a JSON list or object whose `parts` are made one by one, each time it is hashed.

    Parts are the items of a list, or (`is_object`) pairs of key and value, sorted by key, each key once.
    """

    parts: Callable[[], Iterable[Any]]
    is_object: bool = False


def streamed_fingerprint(value: Mapping[str, Any]) -> str:
    """Return what `router.fingerprint.fingerprint` returns for a JSON object, any member of which may be `Streamed`."""
    digest = hashlib.sha256()
    for text in _texts(value):
        digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _texts(value: Mapping[str, Any]) -> Iterator[str]:
    """Yield the canonical JSON of an object in pieces."""
    separator = "{"
    for key in sorted(value):
        yield f"{separator}{canonical_json(key)}:"
        separator = ","
        member = value[key]
        if isinstance(member, Streamed):
            yield from _streamed_texts(member)
        else:
            yield canonical_json(member)
    yield "}" if value else "{}"


def _streamed_texts(member: Streamed) -> Iterator[str]:
    yield "{" if member.is_object else "["
    separator = ""
    for part in member.parts():
        if member.is_object:
            key, value = part
            yield f"{separator}{canonical_json(key)}:{canonical_json(value)}"
        else:
            yield separator + canonical_json(part)
        separator = ","
    yield "}" if member.is_object else "]"
