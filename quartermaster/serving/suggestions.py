"""Phrases that visitors of the pages suggest, in a file that a person reviews: no build reads it.

A line is `{"id": tool, "phrase": text, "at": time, "by": the token's name or null}`.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from router.errors import QuartermasterError, SettingsInvalid
from router.snapshot.phrases import cleaned_phrases
from router.snapshot.store.locking import lock_file

MAX_PHRASE = 200  # characters
_MAX_BYTES = 1_048_576  # some ten thousand suggestions


class SuggestionRefused(QuartermasterError):
    """Raised where the file cannot take another suggestion: it is full, or cannot be written."""


class Suggestion(msgspec.Struct, frozen=True):
    """A phrase that somebody suggests for a tool."""

    id: str
    phrase: str
    at: str
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Suggestions:
    """The file of suggestions, which only its user may read. Several threads and processes may use one."""

    path: Path

    @property
    def _lock(self) -> Path:
        return self.path.with_name(f"{self.path.name}.lock")

    def add(self, tool_id: str, phrase: str, by: str | None) -> None:
        """Append a phrase, unless the tool has it already.

        Raises SettingsInvalid where it is blank or too long, SuggestionRefused where the file is full.
        """
        if len(phrase) > MAX_PHRASE or not (cleaned := cleaned_phrases(tool_id, [phrase])):
            raise SettingsInvalid(f"a phrase has 1 to {MAX_PHRASE} characters")
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        made = Suggestion(tool_id, cleaned[0], now, by)
        try:
            with lock_file(self._lock):
                known = self._read()
                if any((one.id, one.phrase) == (made.id, made.phrase) for one in known):
                    return
                self._write([*known, made])
        except OSError as error:
            raise SuggestionRefused(f"the suggestion cannot be kept: {error.strerror}") from error

    def read(self, tool_id: str | None = None) -> list[Suggestion]:
        """Return the suggestions, of all tools or one, oldest first. Raises SettingsInvalid without a file."""
        if not self.path.is_file():
            raise SettingsInvalid(f"there is no file {self.path}: `quartermaster serve http --suggestions` writes it")
        return [one for one in self._read() if tool_id in (None, one.id)]

    def take(self, is_wanted: Callable[[Suggestion], bool]) -> list[Suggestion]:
        """Remove suggestions from the file, and return them."""
        with lock_file(self._lock):
            known = self._read()
            self._write([one for one in known if not is_wanted(one)])
        return [one for one in known if is_wanted(one)]

    def _read(self) -> list[Suggestion]:
        try:
            return msgspec.json.Decoder(Suggestion).decode_lines(self.path.read_bytes())
        except FileNotFoundError:
            return []
        except (ValueError, RecursionError) as error:
            raise SettingsInvalid(f"{self.path} is not a file of suggestions: {error}") from error

    def _write(self, suggestions: list[Suggestion]) -> None:
        """Replace the file as a whole, so that no reader finds half a line."""
        lines = msgspec.json.Encoder().encode_lines(suggestions)
        if len(lines) > _MAX_BYTES:
            raise SuggestionRefused(f"the file of suggestions has {_MAX_BYTES:,} bytes: it must be reviewed first")
        new = self.path.with_name(f"{self.path.name}.new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(lines)
        new.replace(self.path)
