"""Compare two catalogs tool by tool, by definitions and English phrases: what was added, removed and changed.

Phrases in other languages are not compared: a record store does not hold them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields

from router.record import ToolRecord
from router.snapshot.record_store import ToolEntries, ToolEntry, compared_entry

# Where a record was read from says nothing of the tool; parameters are read from the schema; entries have neither
# outputs nor links.
_NOT_COMPARED = frozenset(("tool_id", "origin", "parameters", "outputs", "links"))
_PARTS = {f.name: f.name.replace("input_schema", "schema") for f in fields(ToolRecord) if f.name not in _NOT_COMPARED}


@dataclass(frozen=True, slots=True)
class ToolChange:
    """A tool that both catalogs have, and what differs: parts of its record, English phrases that came and went."""

    tool_id: str
    parts: tuple[str, ...]
    phrases_added: tuple[str, ...]
    phrases_removed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CatalogDifference:
    """What changed from one catalog to another: ids of tools, and the tools that changed, each sorted by id."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[ToolChange, ...]

    def __bool__(self) -> bool:
        """Return whether anything differs."""
        return bool(self.added or self.removed or self.changed)


def difference(before: ToolEntries, after: ToolEntries) -> CatalogDifference:
    """Return which definitions and English phrases changed between two catalogs. Holds one tool of each at a time."""
    added, removed, changed = [], [], []
    for old, new in _paired(before, after):
        if old is None and new is not None:
            added.append(new.record.tool_id)
        elif new is None and old is not None:
            removed.append(old.record.tool_id)
        elif old is not None and new is not None and old != new and (change := _change(old, new)):
            changed.append(change)
    return CatalogDifference(tuple(added), tuple(removed), tuple(changed))


def _change(old: ToolEntry, new: ToolEntry) -> ToolChange | None:
    parts = tuple(name for part, name in _PARTS.items() if getattr(old.record, part) != getattr(new.record, part))
    added = tuple(phrase for phrase in new.phrases if phrase not in old.phrases)
    removed = tuple(phrase for phrase in old.phrases if phrase not in new.phrases)
    return ToolChange(new.record.tool_id, parts, added, removed) if parts or added or removed else None


def _paired(before: ToolEntries, after: ToolEntries) -> Iterator[tuple[ToolEntry | None, ToolEntry | None]]:
    """Yield the entries of two catalogs by id, in order; None stands for a tool that one of them lacks."""
    olds, news = _entries(before), _entries(after)
    old, new = next(olds, None), next(news, None)
    while old is not None or new is not None:
        if new is None or (old is not None and old.record.tool_id < new.record.tool_id):
            yield old, None
            old = next(olds, None)
        elif old is None or new.record.tool_id < old.record.tool_id:
            yield None, new
            new = next(news, None)
        else:
            yield old, new
            old, new = next(olds, None), next(news, None)


def _entries(entries: ToolEntries) -> Iterator[ToolEntry]:
    return (compared_entry(entries, ordinal) for ordinal in entries.by_id().tolist())
