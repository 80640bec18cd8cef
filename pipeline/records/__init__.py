"""RawTool → ToolRecord: normalised, exact duplicates merged, colliding ids told apart, sorted by id."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pipeline.sources import RawTool
from router.fingerprint import fingerprint
from router.record import Origin, ToolRecord
from router.tools.definitions.normalization import normalize, numbered_id

__all__ = ["Catalog", "Notice", "catalog_records", "record_hash"]


@dataclass(frozen=True, slots=True)
class Notice:
    """Something an operator should know about a tool that was kept."""

    tool_id: str
    kind: str
    message: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Catalog:
    """Records sorted by tool id, their hashes, and what was merged, renamed or thin."""

    records: tuple[ToolRecord, ...]
    hashes: Mapping[str, str]
    notices: tuple[Notice, ...]

    def count(self, kind: str) -> int:
        """How many notices are of a kind: "merged", "renamed", "thin" or "open"."""
        return sum(notice.kind == kind for notice in self.notices)


def record_hash(record: ToolRecord) -> str:
    """sha256 of what a tool is, wherever it came from and whatever id it got here."""
    return fingerprint(record.content())


def catalog_records(tools: Iterable[RawTool]) -> Catalog:
    """The records of all sources together.

    Exact duplicate: same provider, name and content; merged into the first. Another tool of the same id gets `~2`, `~3`
    in source order. The same tool of two providers is two tools.
    """
    kept: dict[str, ToolRecord] = {}
    hashes: dict[str, str] = {}
    identical: dict[str, str] = {}
    numbers: dict[str, int] = {}
    notices: list[Notice] = []
    for raw in tools:
        record = normalize(raw)
        content = record_hash(record)
        if twin := identical.get(content):
            notices.append(Notice(twin, "merged", f"{record.tool_id} is an exact duplicate", record.origin))
            continue
        if (wanted := record.tool_id) in kept:
            record = replace(record, tool_id=numbered_id(wanted, numbers, kept))
            notices.append(Notice(record.tool_id, "renamed", f"the id {wanted} was taken", record.origin))
        if not record.description:
            notices.append(Notice(record.tool_id, "thin", "it has no description", record.origin))
        notices.extend(Notice(record.tool_id, "open", message, record.origin) for message in dict.fromkeys(raw.notices))
        identical[content] = record.tool_id
        kept[record.tool_id] = record
        hashes[record.tool_id] = content
    records = tuple(kept[tool_id] for tool_id in sorted(kept))
    return Catalog(records, hashes, tuple(notices))
