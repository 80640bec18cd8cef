"""The trouble that the hook was told of last: it hears of other trouble, of its end, and now and then of what lasts.

A build may end before it has a ledger. It is therefore kept in the user's state folder, by catalog and workspace.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from pipeline.settings.files import CATALOG_FILE
from pipeline.sources.transport.access import write_private
from pipeline.sources.transport.approval import state_folder
from router.fingerprint import fingerprint

# A number, and the word that it counts: "3 hours" and "1 day" are the same trouble.
_FIGURE = re.compile(r"\b\d(?:[\w.:%+-]|,(?=\d))*(?:\s+[^\W\d]\w*)?")


class Told(msgspec.Struct, frozen=True):
    """Trouble: the events, the reasons without figures, and the builds with the same since it was told."""

    events: tuple[str, ...]
    reasons: tuple[str, ...]
    builds: int = 0


def without_figures(reasons: Iterable[str]) -> tuple[str, ...]:
    """Return reasons as they are compared with those of another build."""
    return tuple(dict.fromkeys(_FIGURE.sub("#", reason) for reason in reasons))


def told_file(folder: Path, name: str, workspace: Path) -> Path:
    """Return the file of a catalog in a folder, or of a single file there with this name, built in a workspace."""
    single = "" if (folder / CATALOG_FILE).exists() or not folder.exists() else name
    # As they are named: a link may lead elsewhere after each release.
    key = fingerprint([str(folder.absolute()), single, str(workspace.absolute())])
    return state_folder() / "told" / f"{key}.json"


def read_told(file: Path) -> Told | None:
    """Return the last trouble; None where there is none. Raises OSError where the file cannot be read."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Told)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise OSError(f"{file} cannot be read ({error}): remove it") from None


def write_told(file: Path, told: Told | None) -> None:
    """Keep the last trouble; None where it has ended. Raises OSError."""
    if told is None:
        file.unlink(missing_ok=True)
    else:
        write_private(file, msgspec.json.encode(told).decode())
