"""What a delta's file says of itself, in its metadata."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from router.errors import EncoderInvalid, quoted
from router.files import read_bounded
from router.fingerprint import file_sha256

CHECKSUMS_FILE = "SHA256SUMS"
FETCH_AGAIN = "fetch the folder again, or train it again"

_MOST_BYTES = 1 << 28  # of a delta: the largest encoders' of rank 64 have 60 MB
_MOST_LISTED_BYTES = 1 << 16
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")


def verify_checksum(path: Path) -> str:
    """Return the sha256 of a delta's file, which its folder lists.

    Raises EncoderInvalid where the file cannot be read, is too large, or its checksum is another or not listed.
    """
    try:
        if (size := path.stat().st_size) > _MOST_BYTES:
            raise EncoderInvalid(f"{path} has {size:,} bytes, a delta has at most {_MOST_BYTES:,}")
        listed = read_checksums(path.parent).get(path.name, "none")
        found = file_sha256(path)
    except OSError as error:
        raise EncoderInvalid(f"the delta {path} cannot be read: {error}. Fetch the folder again") from error
    if found != listed:
        raise EncoderInvalid(f"{path} has the sha256 {found}, {CHECKSUMS_FILE} beside it says {listed}: {FETCH_AGAIN}")
    return found


def read_checksums(folder: Path) -> dict[str, str]:
    """Return the checksums that a folder lists, by file name. Raises OSError, and EncoderInvalid for another format."""
    text = read_bounded(folder / CHECKSUMS_FILE, _MOST_LISTED_BYTES).decode("utf-8", "replace")
    lines = [_LINE.fullmatch(line) for line in text.splitlines()]
    if not all(lines):
        raise EncoderInvalid(f"{folder / CHECKSUMS_FILE} has a line that is not '<sha256>  <file>': {FETCH_AGAIN}")
    return {line[2]: line[1] for line in lines if line}


def write_checksums(folder: Path) -> None:
    """Write the checksums of all files of a folder."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != CHECKSUMS_FILE)
    lines = [f"{file_sha256(path)}  {path.name}\n" for path in files]
    (folder / CHECKSUMS_FILE).write_text("".join(lines), encoding="utf-8")


DELTA_FILE = "delta.safetensors"

_VERSION = "1"  # raise it with any change that an older reader would apply wrongly
_MOST_RANK = 1024  # the largest encoders have as many channels
_MOST_SCALE = 1024.0
_MOST_TEXT = 4096  # characters of a value
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class DeltaHeader:
    """The base that a delta was made over, and how its factors are read.

    `base` names the model, `base_weights` is the sha256 of its weights' file. `rank` is the highest of any map.
    `query_prefix` is the prefix of requests that it was trained with; None leaves it to the base.
    """

    base: str
    base_weights: str
    scale: float
    rank: int
    query_prefix: str | None = None

    def metadata(self) -> dict[str, str]:
        """Return the metadata of the file, as `read_header` reads it."""
        prefix = {} if self.query_prefix is None else {"query_prefix": self.query_prefix}
        return {
            "format_version": _VERSION,
            "base": self.base,
            "base_weights": self.base_weights,
            "scale": repr(self.scale),
            "rank": str(self.rank),
            **prefix,
        }


def read_header(path: Path) -> DeltaHeader:
    """Return what a delta's file says of itself, after its checksum was verified; its numbers are not read.

    Raises EncoderInvalid where anything is wrong with it.
    """
    verify_checksum(path)
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            return _header(path, file.metadata() or {})
    except (OSError, SafetensorError) as error:
        raise EncoderInvalid(f"the delta {path} cannot be read: {error}. Fetch the folder again") from error


def _header(path: Path, metadata: Mapping[str, str]) -> DeltaHeader:
    version, base, weights = (_text(path, name, metadata) for name in ("format_version", "base", "base_weights"))
    if version != _VERSION:
        raise EncoderInvalid(
            f"{path} has the format version {quoted(version)}, this Quartermaster reads {_VERSION}: upgrade it, or "
            "train the delta again"
        )
    if not _SHA256.fullmatch(weights):
        raise EncoderInvalid(f"{path} has {quoted(weights)} for base_weights, it must be a sha256: {FETCH_AGAIN}")
    scale = _number(path, "scale", _text(path, "scale", metadata), _MOST_SCALE)
    rank = _number(path, "rank", _text(path, "rank", metadata), _MOST_RANK)
    if not rank.is_integer():
        raise EncoderInvalid(f"{path} has {rank} for rank, it must be a whole number: {FETCH_AGAIN}")
    prefix = metadata.get("query_prefix")
    if prefix is not None and len(prefix) > _MOST_TEXT:
        raise EncoderInvalid(
            f"{path} has a query_prefix of {len(prefix):,} characters, at most {_MOST_TEXT:,} are read"
        )
    return DeltaHeader(base, weights, scale, int(rank), prefix)


def _text(path: Path, name: str, metadata: Mapping[str, str]) -> str:
    value = metadata.get(name, "")
    if not 0 < len(value) <= _MOST_TEXT:
        raise EncoderInvalid(f"{path} has {quoted(value)} for {name} in its metadata: {FETCH_AGAIN}")
    return value


def _number(path: Path, name: str, text: str, most: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number <= most:  # true for NaN too
        raise EncoderInvalid(
            f"{path} has {quoted(text)} for {name}, it must be a number above 0 and at most {most:g}: {FETCH_AGAIN}"
        )
    return number
