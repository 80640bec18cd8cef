"""Files to JSON values. A file that cannot be read stops the run; a line that cannot be read is one rejected record."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from pipeline.errors import RecordRejected, RunAborted
from router.record import Origin

# JSON may escape half of a surrogate pair, and NUL: neither can be stored as UTF-8 text.
_UNSTORABLE = re.compile("[\ud800-\udfff\x00]")
_ESCAPED_UNSTORABLE = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")
# Aliases let a YAML file of a few lines stand for billions of values; a real document has fewer than this.
_MAX_VALUES = 5_000_000


class _CoreLoader(yaml.CSafeLoader):
    """YAML 1.2's core schema: `no`, `on` and dates are texts, as OpenAPI means them."""


_CoreLoader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")
    ]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_CoreLoader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)


def read_text(path: Path) -> str:
    """A file's text. Raises RunAborted where it is missing, unreadable or not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise RunAborted(f"the source {path} does not exist") from None
    except IsADirectoryError:
        raise RunAborted(f"the source {path} is a folder: name a file in it") from None
    except OSError as error:
        raise RunAborted(f"the source {path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise RunAborted(
            f"the source {path} is not UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}"
        ) from error


def parse_json(text: str) -> Any:
    """A JSON value. Raises ValueError with line and column, also for NaN, Infinity and nesting past Python's limit."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return _storable(value) if _ESCAPED_UNSTORABLE.search(text) else value


def read_document(path: Path) -> Any:
    """The one value of a JSON or YAML file. Raises RunAborted, with the place, where it does not parse."""
    text = read_text(path)
    try:
        if path.suffix.lower() in (".yaml", ".yml"):
            value = yaml.load(text, Loader=_CoreLoader)  # noqa: S506 - a CSafeLoader
            _count(value)
            return value
        return parse_json(text)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise RunAborted(
            f"the source {path} is not readable {path.suffix.lstrip('.').upper() or 'JSON'}: {error}"
        ) from error


def read_lines(path: Path) -> Iterator[tuple[Origin, Any] | RecordRejected]:
    """Each line of a JSONL file with its origin; a line that does not parse is a rejected record."""
    # Not splitlines(): U+2028 and its kin may stand unescaped inside a JSON text.
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        origin = Origin(path.name, f"line {number}")
        try:
            yield origin, parse_json(line)
        except ValueError as error:
            yield RecordRejected(origin, f"not JSON: {error}")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    return value


def _count(value: Any) -> None:
    """Raise ValueError on more values than any real document has, aliases followed."""
    stack, seen = [value], 0
    while stack:
        item = stack.pop()
        seen += 1
        if seen > _MAX_VALUES:
            raise ValueError(f"it stands for more than {_MAX_VALUES:,} values (aliases of aliases?)")
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
