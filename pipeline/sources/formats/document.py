"""Parse files to JSON values. An unreadable file stops the run; an unreadable line is one rejected record."""

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from pipeline.errors import RecordRejected, RunAborted, Unavailable
from router.record import Origin
from router.tools.definitions.json_values import MAX_DEPTH, check_depth, lenient_integer, parse_json, replace_unstorable

# Aliases let a YAML file of a few lines stand for billions of values; a real document has fewer than this.
_MAX_VALUES = 5_000_000
_TAG = "tag:yaml.org,2002:"


class _CoreLoader(yaml.CSafeLoader):
    """A YAML loader for JSON's values only, as in OpenAPI: `no`, `on`, dates, `12:30`, `=` and all keys are texts."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Return a mapping whose keys are all texts."""
        self.flatten_mapping(node)
        for key, _ in node.value:
            key.tag = f"{_TAG}str"  # `200` and `+1` are names
        return super().construct_mapping(node, deep)

    def construct_text(self, node: Any) -> Any:
        """Return a text that can be stored."""
        return replace_unstorable(self.construct_scalar(node))

    def construct_integer(self, node: Any) -> Any:
        """Return an integer of any length."""
        return lenient_integer(str(self.construct_scalar(node)))


_CoreLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag in (f"{_TAG}null", f"{_TAG}merge")]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
for _kind, _pattern, _firsts in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
    ("float", r"^[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$", "-+.0123456789"),
):
    _CoreLoader.add_implicit_resolver(_TAG + _kind, re.compile(_pattern), list(_firsts))
# Types that JSON lacks (bytes, sets, dates) are errors of the document.
_CoreLoader.yaml_constructors = {
    tag: constructor
    for tag, constructor in yaml.CSafeLoader.yaml_constructors.items()
    if tag not in [_TAG + kind for kind in ("binary", "set", "omap", "pairs", "timestamp")]
}
_CoreLoader.add_constructor(f"{_TAG}str", _CoreLoader.construct_text)
_CoreLoader.add_constructor(f"{_TAG}int", _CoreLoader.construct_integer)


def read_text(path: Path) -> str:
    """Return a file's text: UTF-8, or UTF-16 where a byte order mark says so.

    Raises RunAborted where it is missing, cannot be read, or is of another encoding.
    """
    encoding = "utf-8-sig"
    try:
        with path.open("rb") as file:
            if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):  # as a shell of Windows writes it
                encoding = "utf-16"
        return path.read_text(encoding=encoding)
    except FileNotFoundError:
        raise RunAborted(f"the source {path} does not exist") from None
    except IsADirectoryError:
        raise RunAborted(f"the source {path} is a folder: name a file in it") from None
    except OSError as error:
        raise RunAborted(f"the source {path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        kind = "UTF-16" if encoding == "utf-16" else "UTF-8"
        raise RunAborted(
            f"the source {path} is not {kind} text: byte {error.start} is {error.object[error.start]:#04x}; "
            "save it as UTF-8"
        ) from error


def read_document(path: Path) -> Any:
    """Return the one value of a JSON or YAML file. Raises RunAborted, with the place, where it does not parse."""
    text = read_text(path)
    if not text.strip():
        raise RunAborted(f"the source {path} is empty")
    try:
        if path.suffix.lower() in (".yaml", ".yml"):
            _measure_yaml(text)
            value = yaml.load(text, Loader=_CoreLoader)  # noqa: S506 - a CSafeLoader
            _count(value)
            check_depth(value)  # again, for aliases add depth
            return value
        return parse_json(text, lenient=True)
    except yaml.YAMLError as error:
        told = " ".join(str(error).split()).replace(' in "<unicode string>",', " at")
        raise RunAborted(f"the source {path} is not readable YAML: {told}") from error
    except (ValueError, RecursionError) as error:
        kind = "YAML" if path.suffix.lower() in (".yaml", ".yml") else "JSON"
        known = not path.suffix or path.suffix.lower() in (".json", ".yaml", ".yml")
        hint = "" if known else f"; {path.suffix} files are read as JSON: tools come as .json, .jsonl or .yaml"
        raise RunAborted(f"the source {path} is not readable {kind}: {error}{hint}") from error


def read_lines(path: Path) -> Iterator[tuple[Origin, Any] | RecordRejected]:
    """Yield each line of a JSONL file with its origin; a line that does not parse is a rejected record."""
    return _rows(read_text(path), path.name)


def read_source_lines(path: Path) -> Sequence[tuple[Origin, Any] | RecordRejected]:
    """Return the lines of a JSONL source, as `read_lines` yields them.

    Raises RunAborted where no line is JSON, Unavailable where the last one breaks off: then lines may be missing.
    """
    text = read_text(path)
    rows = list(_rows(text, path.name))
    last = text.rpartition("\n")[2]
    if rows and isinstance(rows[-1], RecordRejected) and _breaks_off(last):
        raise Unavailable(f"the source {path} breaks off in its last line: it is not whole")
    if rows and all(isinstance(row, RecordRejected) for row in rows):
        raise RunAborted(f"the source {path} is not JSON Lines: none of its {len(rows):,} lines is JSON")
    return rows


def _rows(text: str, file: str) -> Iterator[tuple[Origin, Any] | RecordRejected]:
    # Not splitlines(): U+2028 and others may be unescaped inside a JSON text.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        origin = Origin(file, f"line {number}")
        try:
            yield origin, parse_json(line)
        except ValueError as error:
            yield RecordRejected(origin, f"not JSON: {error}")


def _breaks_off(line: str) -> bool:
    """Return whether a line is the beginning of a JSON object, without its end."""
    line = line.strip()
    if not line.startswith("{"):
        return False
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        # A cut within `true`, a number or an escape is told at its start.
        return error.pos >= len(line) or (not line.endswith("}") and error.msg != "Extra data")
    except RecursionError:
        return False
    return False


def _count(value: Any) -> None:
    """Raise ValueError on more values than any real document has, aliases followed."""
    stack, seen = [value], 1
    while stack:
        item = stack.pop()
        seen += len(item) if isinstance(item, dict | list) else 0  # before it is spread out in memory
        if seen > _MAX_VALUES:
            raise ValueError(f"it stands for more than {_MAX_VALUES:,} values (aliases of aliases?)")
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def _measure_yaml(text: str) -> None:
    """Raise ValueError on nesting that would overflow the stack of the C loader, which does not look."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
