"""Parse files to JSON values. An unreadable file stops the run; an unreadable line is one rejected record."""

import codecs
import errno
import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from pipeline.errors import RecordRejected, RunAborted, Unavailable
from pipeline.settings import LimitsSettings
from pipeline.sources.formats.other_kinds import other_text
from pipeline.sources.formats.repeated_keys import RepeatedKeys
from pipeline.sources.formats.yaml_values import parse_yaml
from router.record import Origin
from router.tools.definitions.json_values import parse_json
from router.tools.definitions.raw_tool import RawTool

# It matches at every quotation mark, so that no text is read twice.
_TEXT_OF_JSON = re.compile(r'"(?:[^"\\]|\\.)*+\\?(?:"|\Z)', re.DOTALL)
# No JSON and no YAML of tools begins like this; `<<` is a merge of YAML.
_MARKUP = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*<(?:!doctype\b|!--|\?xml\b|[a-z][a-z0-9:-]*[\s/>])", re.IGNORECASE)
# JSON, YAML that begins with a key or an item, or UTF-16, which only a reader can tell.
_TEXT = re.compile(rb"\A(?:\xff\xfe|\xfe\xff|(?:\xef\xbb\xbf)?(?:\s|#.*\n|---\s)*(?:[{\[]|-\s|[\w\"'.-]+:\s))")
_START = 1024  # bytes that tell what a file is
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_PACKED = re.compile(
    rb"(?P<gzip>\x1f\x8b)|(?P<zlib>x[\x01\x9c\xda])|(?P<zstd>\x28\xb5\x2f\xfd)|(?P<xz>\xfd7zXZ)|(?P<bzip2>BZh\d1AY)|"
    rb"(?P<zip>PK\x03\x04)|(?P<lz4>\x04\x22\x4d\x18)|(?P<compress>\x1f\x9d)"
)
_PAGE_TYPES = ("text/html", "application/xhtml+xml")
_YAML = (".yaml", ".yml")
_CHUNK = 1 << 20
_UNREADABLE = {errno.ENOENT: "does not exist", errno.EISDIR: "is a folder: name a file in it"}
DEFAULT_LIMITS = LimitsSettings()

Items = Iterator[RawTool | RecordRejected | str]  # what a reader yields; a text says what the source as a whole lacks
Line = tuple[Origin, Any] | RecordRejected
Known = Callable[[Sequence[tuple[Origin, str]]], Sequence[RawTool | None]]  # tools of lines that were read before


def read_text(path: Path, limits: LimitsSettings = DEFAULT_LIMITS, *, lines: bool = False) -> str:
    """Return a file's text: UTF-8, or UTF-16 where a byte order mark says so, as a shell of Windows writes it.

    Raises RunAborted where it is missing, cannot be read, is larger than limits.document_bytes (`lines` only where they
    are packed), or is of another encoding.
    """
    max_bytes = limits.document_bytes
    try:
        with path.open("rb") as file:
            chunks = iter(partial(file.read, _CHUNK), b"")
            content = b"".join(islice(chunks, None if lines else max_bytes // _CHUNK + 1))
    except OSError as error:
        why = _UNREADABLE.get(error.errno or 0, f"cannot be read: {error.strerror or error}")
        raise RunAborted(f"the source {path} {why}") from error
    if len(content) > max_bytes and not lines:
        raise RunAborted(
            f"the source {path} has more than the {max_bytes:,} bytes of limits.document_bytes: split it, write it "
            "as JSON Lines, or raise the limit"
        )
    content = unpacked(content, f"the source {path}", max_bytes)
    kind = "UTF-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "UTF-8"
    try:
        text = content.decode("utf-8-sig" if kind == "UTF-8" else kind)
    except UnicodeDecodeError as error:
        why = f"byte {error.start} is {error.object[error.start]:#04x}; save it as UTF-8"
        if kind == "UTF-8" and (path.suffix == ".br" or _BINARY.search(content[:_START])):
            why = "it is packed (brotli and deflate leave no mark), or another binary file; unpack it first"
        raise RunAborted(f"the source {path} is not {kind} text: {why}") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def unpacked(content: bytes, subject: str, max_bytes: int) -> bytes:
    """Return what a file or answer holds, of gzip or zlib what is packed.

    Raises RunAborted where it is packed otherwise or has more than `max_bytes`, Unavailable where it breaks off.
    """
    if not (found := _PACKED.match(content)):
        return content
    if (packed := found.lastgroup) not in ("gzip", "zlib"):
        raise RunAborted(f"{subject} could not be read: it is packed by {packed}; unpack it first")
    unpack = zlib.decompressobj(32 + zlib.MAX_WBITS)
    try:
        plain = unpack.decompress(content, max_bytes + 1)
    except zlib.error:
        raise RunAborted(f"{subject} could not be read: its body is not {packed}") from None
    if len(plain) > max_bytes:
        raise RunAborted(f"{subject} gave more than the {max_bytes:,} bytes of limits.document_bytes")
    if not unpack.eof:
        raise Unavailable(f"{subject} broke off: its {packed} body has no end")
    if unpack.unused_data.strip(b"\0"):  # padding, as tapes have it
        raise RunAborted(f"{subject} could not be read: more follows its {packed} body")
    return plain


def suffix_of(path: Path) -> str:
    """Return how a file's name says that it is written, such as ".jsonl", without a ".gz" behind it."""
    return Path(path.stem if path.suffix.lower() == ".gz" else path).suffix.lower()


def _source_text(path: Path, limits: LimitsSettings, *, lines: bool = False) -> str:
    """Return the text of a source as `read_text`. Raises RunAborted also where it is of a known kind without tools."""
    text = read_text(path, limits, lines=lines)
    page = "a web page (HTML), not a document of tools" if is_page(text[:_START].encode()) else None
    if other := other_text(text[: 4 * _START]) or page:
        raise RunAborted(f"the source {path} is {other}")
    return text


def read_document(path: Path, limits: LimitsSettings = DEFAULT_LIMITS, repeats: RepeatedKeys | None = None) -> Any:
    """Return the one value of a JSON or YAML file; `repeats` notes its repeated keys.

    Raises RunAborted, with the place, where it does not parse, and with the limit where it exceeds one.
    """
    text, suffix = _source_text(path, limits), suffix_of(path)
    if not text.strip():
        raise RunAborted(f"the source {path} is empty")
    try:
        if suffix in _YAML:
            return parse_yaml(text, limits, repeats)
        most = limits.document_values
        # First with those in texts.
        if _separators(text) >= most and _separators(_TEXT_OF_JSON.sub("", text)) >= most:
            raise ValueError(f"it holds more than the {most:,} values of limits.document_values")
        return parse_json(text, lenient=True, object_of=(repeats or RepeatedKeys()).object_of)
    except yaml.YAMLError as error:
        why = " ".join(str(error).split()).replace(' in "<unicode string>",', " at")
        raise RunAborted(f"the source {path} is not readable YAML: {why}") from error
    except (ValueError, RecursionError) as error:
        kind = "YAML" if suffix in _YAML else "JSON"
        known = suffix in ("", ".json", *_YAML)
        hint = "" if known else f"; {path.suffix} files are read as JSON: tools come as .json, .jsonl or .yaml"
        raise RunAborted(f"the source {path} is not readable {kind}: {error}{hint}") from error


def _separators(text: str) -> int:
    return sum(map(text.count, "[{,"))


def read_lines(path: Path, limits: LimitsSettings = DEFAULT_LIMITS) -> Iterator[Line]:
    """Yield each line of a JSONL file with its origin; a line that is too long or not JSON is a rejected record."""
    return _lines(_source_text(path, limits, lines=True), path.name, limits)


def read_source_lines(
    path: Path, limits: LimitsSettings = DEFAULT_LIMITS, repeats: RepeatedKeys | None = None, known: Known | None = None
) -> Sequence[Line]:
    """Return the lines of a JSONL source, as `read_lines` yields them; `repeats` notes their repeated keys.

    A line that `known` has a tool for is not parsed: the tool stands in its place. Raises RunAborted where no line is
    JSON, Unavailable where the last one breaks off: then lines may be missing.
    """
    text = _source_text(path, limits, lines=True)
    lines = list(_lines(text, path.name, limits, repeats, known))
    if lines and isinstance(lines[-1], RecordRejected) and _breaks_off(text.rpartition("\n")[2].strip()):
        raise Unavailable(f"the source {path} breaks off in its last line: it is not whole")
    if lines and all(isinstance(line, RecordRejected) for line in lines):
        raise RunAborted(f"the source {path} is not JSON Lines: none of its {len(lines):,} lines is JSON")
    return lines


def _lines(
    text: str, file: str, limits: LimitsSettings, repeats: RepeatedKeys | None = None, known: Known | None = None
) -> Iterator[Line]:
    repeats = repeats or RepeatedKeys()
    # Not splitlines(): U+2028 and others may be unescaped inside a JSON text.
    numbered = ((Origin(file, f"line {n}"), line) for n, line in enumerate(text.split("\n"), 1) if line.strip())
    if known is None:
        yield from (parse_line(origin, line, limits, repeats) for origin, line in numbered)
        return
    for (origin, line), tool in zip(unread := [*numbered], known(unread), strict=True):
        yield parse_line(origin, line, limits, repeats) if tool is None else (origin, tool)


def parse_line(origin: Origin, line: str, limits: LimitsSettings, repeats: RepeatedKeys) -> Line:
    """Return the value of a line with its origin; a line that is too long or not JSON is a rejected record."""
    if len(line) > (most := limits.record_characters):
        why = f"the line has {len(line):,} characters, more than the {most:,} of limits.record_characters"
        return RecordRejected(origin, why)
    try:
        return origin, parse_json(line, object_of=repeats.object_of)
    except ValueError as error:
        return RecordRejected(origin, f"not JSON: {error}")


def _breaks_off(line: str) -> bool:
    """Return whether a line is the beginning of a JSON object, without its end."""
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        # A cut within `true`, a number or an escape is reported at its start.
        is_cut = error.pos >= len(line) or (not line.endswith("}") and error.msg != "Extra data")
        return line.startswith("{") and is_cut
    except (ValueError, RecursionError):  # a number of thousands of digits, a nesting of thousands
        pass
    return False


def is_page(body: bytes, content_type: str = "") -> bool:
    """Return whether a body is a web page, such as a login with status 200: by how it starts, or by its type.

    A body that may be JSON or YAML is none, whatever its type: many servers send everything as text/html.
    """
    start = body[:_START]
    if _MARKUP.match(start):
        return True
    return not _TEXT.match(start) and content_type.partition(";")[0].strip().lower() in _PAGE_TYPES
