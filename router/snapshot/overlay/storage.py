"""The file of an overlay: one JSON object, written in one step."""

import json
from pathlib import Path

import msgspec

from router.errors import SnapshotInvalid
from router.files import read_bounded
from router.fingerprint import fingerprint
from router.snapshot.overlay.overlay import Overlay, RegisteredTool
from router.snapshot.store.durable import replace_text

_FORMAT = 1
_MOST_BYTES = 256 << 20


class _Stored(msgspec.Struct, forbid_unknown_fields=True):
    format: int
    checksum: str
    tools: list[RegisteredTool]
    gone: frozenset[str]
    lists: dict[str, frozenset[str]]


_DECODER = msgspec.json.Decoder(_Stored)


def save_overlay(overlay: Overlay, path: Path) -> None:
    """Write an overlay to a file. A reader, or a start after a crash, finds the old file or the new one, whole.

    Raises OSError where the folder cannot be written.
    """
    row = overlay.to_json()
    text = json.dumps({"format": _FORMAT, "checksum": fingerprint(row), **row}, ensure_ascii=False, indent=1)
    replace_text(path, text + "\n")


def load_overlay(path: Path) -> Overlay:
    """Return the overlay of a file that `save_overlay` wrote.

    Raises SnapshotInvalid where the file is missing, corrupt or of another format: without it, removed tools would
    serve again.
    """
    try:
        stored = _DECODER.decode(read_bounded(path, _MOST_BYTES))
    except FileNotFoundError:
        raise SnapshotInvalid(f"{path} does not exist: `save_overlay` writes an overlay") from None
    except (OSError, ValueError, RecursionError) as error:  # of reading, of JSON, of its types
        raise SnapshotInvalid(f"the overlay {path} cannot be read: {error}") from error
    if stored.format != _FORMAT:
        raise SnapshotInvalid(f"the overlay {path} has format {stored.format}, this router reads format {_FORMAT}")
    overlay = Overlay({tool.record.tool_id: tool for tool in stored.tools}, stored.gone, stored.lists)
    if fingerprint(overlay.to_json()) != stored.checksum:
        raise SnapshotInvalid(f"the overlay {path} is corrupt: its checksum does not match its content; save it again")
    return overlay
