"""Parse files to JSON values. An unreadable file stops the run; an unreadable line is one rejected record."""

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from pipeline.errors import RecordRejected, RunAborted, Unavailable
from pipeline.settings import LimitsSettings
from pipeline.sources.formats.yaml_values import parse_yaml
from router.record import Origin
from router.tools.definitions.json_values import parse_json

# It matches at every quotation mark, so that no text is read twice.
_TEXT_OF_JSON = re.compile(r'"(?:[^"\\]|\\.)*+\\?(?:"|\Z)', re.DOTALL)
_CHUNK = 1 << 20
# No JSON and no YAML of tools begins like this; `<<` is a merge of YAML.
_MARKUP = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*<(?:!doctype\b|!--|\?xml\b|[a-z][a-z0-9:-]*[\s/>])", re.IGNORECASE)
# JSON, YAML that begins with a key or an item, or UTF-16, which only a reader can tell.
_TEXT = re.compile(rb"\A(?:\xff\xfe|\xfe\xff|(?:\xef\xbb\xbf)?(?:\s|#.*\n|---\s)*(?:[{\[]|-\s|[\w\"'.-]+:\s))")
_PAGE_TYPES = ("text/html", "application/xhtml+xml")
START = 1024  # bytes that tell
DEFAULT_LIMITS = LimitsSettings()


def read_text(path: Path, max_bytes: int | None = None) -> str:
    """Return a file's text: UTF-8, or UTF-16 where a byte order mark says so.

    Raises RunAborted where it is missing, cannot be read, has more than `max_bytes`, or is of another encoding.
    """
    encoding = "utf-8-sig"
    try:
        content = _read_bytes(path, max_bytes)
        if max_bytes is not None and len(content) > max_bytes:
            raise RunAborted(
                f"the source {path} has more than the {max_bytes:,} bytes of limits.document_bytes: split it, write it "
                "as JSON Lines, or raise the limit"
            )
        if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # as a shell of Windows writes it
            encoding = "utf-16"
        return content.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
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


def _read_bytes(path: Path, max_bytes: int | None) -> bytes:
    """Return a file's content, or more than `max_bytes` of it where it has more."""
    content = bytearray()
    with path.open("rb") as file:
        while (max_bytes is None or len(content) <= max_bytes) and (chunk := file.read(_CHUNK)):
            content += chunk
    return bytes(content)


def read_document(path: Path, limits: LimitsSettings = DEFAULT_LIMITS) -> Any:
    """Return the one value of a JSON or YAML file.

    Raises RunAborted, with the place, where it does not parse, and with the limit where it exceeds one.
    """
    text = read_text(path, limits.document_bytes)
    if not text.strip():
        raise RunAborted(f"the source {path} is empty")
    try:
        if path.suffix.lower() in (".yaml", ".yml"):
            return parse_yaml(text, max_values=limits.document_values, max_characters=limits.document_bytes)
        _check_values(text, limits.document_values)
        return parse_json(text, lenient=True)
    except yaml.YAMLError as error:
        told = " ".join(str(error).split()).replace(' in "<unicode string>",', " at")
        raise RunAborted(f"the source {path} is not readable YAML: {told}") from error
    except (ValueError, RecursionError) as error:
        kind = "YAML" if path.suffix.lower() in (".yaml", ".yml") else "JSON"
        known = not path.suffix or path.suffix.lower() in (".json", ".yaml", ".yml")
        hint = "" if known else f"; {path.suffix} files are read as JSON: tools come as .json, .jsonl or .yaml"
        raise RunAborted(f"the source {path} is not readable {kind}: {error}{hint}") from error


def read_lines(path: Path, limits: LimitsSettings = DEFAULT_LIMITS) -> Iterator[tuple[Origin, Any] | RecordRejected]:
    """Yield each line of a JSONL file with its origin; a line that is too long or no JSON is a rejected record."""
    return _rows(read_text(path), path.name, limits)


def read_source_lines(
    path: Path, limits: LimitsSettings = DEFAULT_LIMITS
) -> Sequence[tuple[Origin, Any] | RecordRejected]:
    """Return the lines of a JSONL source, as `read_lines` yields them.

    Raises RunAborted where no line is JSON, Unavailable where the last one breaks off: then lines may be missing.
    """
    text = read_text(path)
    rows = list(_rows(text, path.name, limits))
    last = text.rpartition("\n")[2]
    if rows and isinstance(rows[-1], RecordRejected) and _breaks_off(last):
        raise Unavailable(f"the source {path} breaks off in its last line: it is not whole")
    if rows and all(isinstance(row, RecordRejected) for row in rows):
        raise RunAborted(f"the source {path} is not JSON Lines: none of its {len(rows):,} lines is JSON")
    return rows


def _rows(text: str, file: str, limits: LimitsSettings) -> Iterator[tuple[Origin, Any] | RecordRejected]:
    # Not splitlines(): U+2028 and others may be unescaped inside a JSON text.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        origin = Origin(file, f"line {number}")
        if len(line) > limits.record_characters:
            yield RecordRejected(
                origin,
                f"the line has {len(line):,} characters, more than the {limits.record_characters:,} of "
                "limits.record_characters",
            )
            continue
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
    except (ValueError, RecursionError):  # a number of thousands of digits, a nesting of thousands
        return False
    return False


def _check_values(text: str, max_values: int) -> None:
    """Raise ValueError where a JSON text holds more values than the limit. Nothing is parsed for it."""
    if _separators(text) < max_values:  # those in texts are counted too
        return
    if _separators(_TEXT_OF_JSON.sub("", text)) >= max_values:
        raise ValueError(f"it holds more than the {max_values:,} values of limits.document_values")


def _separators(text: str) -> int:
    return sum(map(text.count, "[{,"))


def is_page(start: bytes, content_type: str = "") -> bool:
    """Return whether a body is a web page, such as a login with status 200: by how it starts, or by its type.

    A body that may be JSON or YAML is none, whatever its type: many servers send everything as text/html.
    """
    if _MARKUP.match(start):
        return True
    return not _TEXT.match(start) and content_type.partition(";")[0].strip().lower() in _PAGE_TYPES
