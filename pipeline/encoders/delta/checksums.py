"""The checksums beside a delta, in the format of `sha256sum`."""

import re
from pathlib import Path

from router.errors import EncoderInvalid
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
