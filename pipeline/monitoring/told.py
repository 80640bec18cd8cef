"""What the hook was told last: it hears of what changed, of the end of trouble, and now and then of what lasts.

A build may end before it has a ledger. What was told is therefore kept in the user's state folder: a file for each
catalog and workspace.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import msgspec

from pipeline.settings.files import CATALOG_FILE
from pipeline.sources.transport.access import write_private
from pipeline.sources.transport.approval import state_folder
from router.fingerprint import fingerprint

# A number, and the word that it counts: "3 hours" and "1 day" are the same trouble.
_FIGURE = re.compile(r"\b\d(?:[\w.:%+-]|,(?=\d))*(?:\s+[^\W\d]\w*)?")


@dataclass(frozen=True, slots=True)
class Told:
    """Trouble that the hook was told of: the events, the reasons without figures, the builds since with the same."""

    events: tuple[str, ...]
    reasons: tuple[str, ...]
    builds: int = 0

    @classmethod
    def of(cls, events: Sequence[str], reasons: Sequence[str]) -> Self:
        """Return what is to be remembered of a message."""
        return cls(tuple(events), tuple(dict.fromkeys(_FIGURE.sub("#", reason) for reason in reasons)))

    def repeated(self) -> Self:
        """Return it after one more build with the same trouble."""
        return replace(self, builds=self.builds + 1)

    def is_same(self, other: Self) -> bool:
        """Return whether both are of the same trouble."""
        return (self.events, self.reasons) == (other.events, other.reasons)


@dataclass(frozen=True, slots=True)
class ToldFile:
    """The file with the last trouble that was told; there is none while all is well."""

    path: Path

    @classmethod
    def of(cls, folder: Path, name: str, workspace: Path) -> Self:
        """Return that of a catalog in a folder, or of a single file there, whose name is `name`, and a workspace."""
        single = "" if (folder / CATALOG_FILE).exists() or not folder.exists() else name
        # As they are named: a link may lead elsewhere after each release.
        key = fingerprint([str(folder.absolute()), single, str(workspace.absolute())])
        return cls(state_folder() / "told" / f"{key}.json")

    def read(self) -> Told | None:
        """Return the last trouble. Raises OSError where the file cannot be read."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=Told)
        except FileNotFoundError:
            return None
        except msgspec.MsgspecError as error:
            raise OSError(f"{self.path} cannot be read ({error}): remove it") from None

    def write(self, told: Told | None) -> None:
        """Keep the last trouble; None where it has ended. Raises OSError."""
        if told is None:
            self.path.unlink(missing_ok=True)
        else:
            write_private(self.path, msgspec.json.encode(told).decode())
