"""Turn raw tools into the records of a catalog: normalise, merge exact duplicates, number equal ids, sort by id.

Near-duplicates stay apart here; `router.retrieval.deduplication` groups them when a snapshot is read.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from pipeline.sources import RawTool
from router.fingerprint import fingerprint
from router.record import Origin, ToolRecord
from router.tools.definitions.raw_tool import normalize, numbered_id
from router.tools.foreign_text import foreign_script
from router.tools.naming import former_ids

__all__ = ["NOTICES", "Catalog", "Notice", "catalog_records", "record_hash", "unread_notices"]

NOTICES = ("merged", "renamed", "thin", "unread", "open")
_UNREAD = "its description is not English ({} letters): English requests find it by its name and its English phrases"


@dataclass(frozen=True, slots=True)
class Notice:
    """A message for the operator about a tool that was kept; `kind` is one of NOTICES."""

    tool_id: str
    kind: str
    message: str
    origin: Origin


@dataclass(frozen=True)
class Catalog:
    """Records sorted by tool id, their hashes by id, and notices about them."""

    records: tuple[ToolRecord, ...]
    hashes: Mapping[str, str]
    notices: tuple[Notice, ...]

    def count(self, kind: str) -> int:
        """Return how many notices are of a kind."""
        return sum(notice.kind == kind for notice in self.notices)

    @cached_property
    def unread(self) -> frozenset[str]:
        """The ids of the tools whose descriptions are not English."""
        return frozenset(notice.tool_id for notice in self.notices if notice.kind == "unread")

    @cached_property
    def former_ids(self) -> Mapping[str, str]:
        """The ids of today by those that tools may have had: what was gathered under these follows the tools."""
        return former_ids(self.records)


def record_hash(record: ToolRecord) -> str:
    """Return the sha256 of a tool's content, whatever its origin and its id."""
    return fingerprint(record.content())


def unread_notices(records: Iterable[ToolRecord]) -> Iterator[Notice]:
    """Yield a notice for each tool whose description is not English."""
    for record in records:
        if script := foreign_script(record.description):
            yield Notice(record.tool_id, "unread", _UNREAD.format(script), record.origin)


def catalog_records(tools: Iterable[RawTool]) -> Catalog:
    """Return the catalog of all sources together.

    Tools of the same provider, name and content are merged into the first. Another tool with the same id gets `~2`,
    `~3`, in the order of the sources. The same tool of two providers is two tools.
    """
    by_id: dict[str, ToolRecord] = {}
    hashes: dict[str, str] = {}
    identical: dict[str, str] = {}
    numbers: dict[str, int] = {}
    notices: list[Notice] = []
    for raw in tools:
        record = normalize(raw)
        content = record_hash(record)
        if duplicate := identical.get(content):
            notices.append(Notice(duplicate, "merged", f"{record.tool_id} is an exact duplicate", record.origin))
            continue
        if (wanted := record.tool_id) in by_id:
            record = replace(record, tool_id=numbered_id(wanted, numbers, by_id))
            notices.append(Notice(record.tool_id, "renamed", f"the id {wanted} was taken", record.origin))
        if not record.description:
            notices.append(Notice(record.tool_id, "thin", "it has no description", record.origin))
        notices.extend(unread_notices((record,)))
        notices.extend(Notice(record.tool_id, "open", message, record.origin) for message in dict.fromkeys(raw.notices))
        identical[content] = record.tool_id
        by_id[record.tool_id] = record
        hashes[record.tool_id] = content
    records = tuple(by_id[tool_id] for tool_id in sorted(by_id))
    return Catalog(records, hashes, tuple(notices))
