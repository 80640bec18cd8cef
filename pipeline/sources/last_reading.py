"""What a source gave at its last good read, as text and back, and whether it may stand in for a source that fails."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlunsplit

import msgspec

from pipeline.errors import RecordRejected, RunAborted
from pipeline.sentences import counted
from pipeline.settings import SourceSettings
from pipeline.settings.base import duration_text
from pipeline.sources.naming import without_user
from router.fingerprint import fingerprint
from router.record import Kind, Origin
from router.tools.definitions.raw_tool import RawTool, tool_id_of

_OPTIONAL = ("outputs", "links", "operation", "kind", "instructions")  # left out where empty


@dataclass(frozen=True, slots=True)
class SourceReading:
    """What one source gave. `key` names the source in the ledger, `source` in messages."""

    key: str
    source: str
    tools: tuple[RawTool, ...]
    rejected: tuple[RecordRejected, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def tool_ids(self) -> tuple[str, ...]:
        """Return the ids of the tools, before equal ids are numbered."""
        return tuple(dict.fromkeys(map(tool_id_of, self.tools)))

    def to_text(self) -> str:
        """Return all of it as JSON, keys in the order of the source, which field text depends on."""
        rejected = [[[row.origin.file, row.origin.pointer], row.reason, row.keys] for row in self.rejected]
        stored = {"tools": list(map(_row, self.tools)), "rejected": rejected, "notices": self.notices}
        return json.dumps(stored, separators=(",", ":"))  # ASCII: a notice may quote a key with a lone surrogate

    @classmethod
    def from_text(cls, key: str, source: str, text: str) -> "SourceReading":
        """Return the reading that `to_text` wrote. Raises ValueError where another version wrote it differently."""
        try:
            stored = json.loads(text)
            # A reading of an earlier version has no operations: its tools cannot be called until it is read again.
            tools = [msgspec.convert({**row, "origin": Origin(*row["origin"])}, RawTool) for row in stored["tools"]]
            rejected = [
                RecordRejected(Origin(*place), reason, keys=tuple(keys)) for place, reason, keys in stored["rejected"]
            ]
        except (KeyError, TypeError, RecordRejected, msgspec.ValidationError) as error:
            raise ValueError(f"it is of another version: {error}") from error
        return cls(key, source, tuple(tools), tuple(rejected), tuple(stored.get("notices", ())))


def _row(tool: RawTool) -> dict[str, Any]:
    row = msgspec.to_builtins(tool)
    row |= {"origin": [tool.origin.file, tool.origin.pointer], "kind": "" if tool.kind is Kind.TOOL else tool.kind}
    row |= {"outputs": [output.to_json() for output in tool.outputs]}
    row |= {"operation": tool.operation.to_json() if tool.operation else None}
    return {name: value for name, value in row.items() if value or name not in _OPTIONAL}


@dataclass(frozen=True, slots=True)
class LastReading:
    """A source's last good reading, and when it was read, UTC."""

    reading: SourceReading
    read_at: datetime


FindReading = Callable[[str], LastReading | None]
"""Returns the last good reading of a source by its key; None where there is none."""


@dataclass(frozen=True, slots=True)
class StaleSource:
    """A source that could not be read, for `reason`, and keeps the `tools` records of its last good read."""

    source: str
    reason: str
    last_read_at: datetime
    age: timedelta
    tools: int

    def __str__(self) -> str:
        tools, age = counted(self.tools, "tool"), duration_text(self.age)
        return f"{self.source} ({tools} of {_when(self.last_read_at)}, {age} ago)"

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, for programs and for the manifest. The age is in seconds."""
        return {
            "source": self.source,
            "reason": self.reason,
            "last_read_at": self.last_read_at.isoformat(timespec="seconds"),
            "age_s": int(self.age.total_seconds()),
            "tools": self.tools,
        }


def stale_source(error: RunAborted, last: LastReading, max_age: timedelta) -> StaleSource:
    """Return how a source that failed with `error` is reported while its last reading stands in.

    Raises an error of the same kind, which says since when, where the reading is older than `max_age`.
    """
    age = max(datetime.now(UTC) - last.read_at, timedelta())  # nothing where the clock was set back since
    if age > max_age:
        raise type(error)(
            f"{error}; its last known records, of {_when(last.read_at)}, are {duration_text(age)} old: "
            f"sources.max_age allows {duration_text(max_age)}"
        )
    return StaleSource(last.reading.source, " ".join(str(error).split()), last.read_at, age, len(last.reading.tools))


def _when(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def source_keys(sources: Sequence[SourceSettings]) -> Iterator[str]:
    """Yield a key for each source, stable as long as it is read from the same place in the same way.

    It is a hash, so that nothing that may be secret is stored: an argument of a command, or the query of a URL.
    """
    seen: Counter[str] = Counter()
    for source in sources:
        fields_map = source.fields.model_dump() if source.fields else None
        url = urlunsplit(without_user(source.url)) if source.url is not None else None
        where = [str(source.path) if source.path else None, source.command or source.python, url]
        key = fingerprint([where, source.format, source.provider, fields_map])
        seen[key] += 1
        yield fingerprint([key, seen[key]])  # equal sources may differ in their environment: they keep their order
