"""Turn raw tools into the records of a catalog: normalise, merge exact duplicates, number equal ids, sort by id.

Near-duplicates stay apart here; `router.retrieval.deduplication` groups them when a snapshot is read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

from pipeline.memo import Memo, digest
from pipeline.sources import RawTool
from router.fingerprint import fingerprint
from router.record import Origin, Parameter, ToolRecord
from router.tools.definitions.raw_tool import normalize, numbered_id
from router.tools.foreign_text import foreign_script
from router.tools.naming import former_ids
from router.tools.trust.sanitization import RemovedText, sanitize

__all__ = ["NOTICES", "Catalog", "Notice", "catalog_records", "record_hash", "sanitized", "unread_notices"]

NOTICES = ("merged", "renamed", "thin", "unread", "open")
_UNREAD = "its description is not English ({} letters): English requests find it by its name and its English phrases"
_DERIVED = ("origin", "notices", "shape", "lost", "unread")  # fields of a raw tool that do not make its content
_CONTENT = tuple(field.name for field in fields(RawTool) if field.name not in _DERIVED)


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

    @cached_property
    def digests(self) -> list[bytes]:
        """A digest of each record, its origin aside. Texts have the order of the schema's keys, hashes have not."""
        return [
            digest(self.hashes[r.tool_id], r.tool_id, r.operation and r.operation.to_json(), dict(r.input_schema))
            for r in self.records
        ]

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
            yield _unread(record, script)


def _unread(record: ToolRecord, script: str) -> Notice:
    return Notice(record.tool_id, "unread", _UNREAD.format(script), record.origin)


@dataclass(frozen=True, slots=True)
class _Read:
    """What a raw tool's content gives: parameters, the record's hash, and its script, empty for English."""

    parameters: tuple[Parameter, ...]
    content: str
    script: str


def _read(raw: RawTool) -> _Read:
    record = normalize(raw)
    return _Read(record.parameters, record_hash(record), foreign_script(record.description))


def sanitized(catalog: Catalog, memo: Memo) -> list[tuple[ToolRecord, tuple[RemovedText, ...]]]:
    """Return what `sanitize` returns of each record of a catalog. Those that it leaves as they are, are kept."""

    def unchanged(places: Sequence[int]) -> list[bool]:
        return [sanitize(catalog.records[place]) == (catalog.records[place], ()) for place in places]

    are_clean = memo.results("sanitize", catalog.digests, bool, unchanged)
    return [(r, ()) if clean else sanitize(r) for r, clean in zip(catalog.records, are_clean, strict=True)]


def catalog_records(tools: Iterable[RawTool], memo: Memo | None = None) -> Catalog:
    """Return the catalog of all sources together. `memo` has what earlier builds computed.

    Tools of the same provider, name and content are merged into the first. Another tool with the same id gets `~2`,
    `~3`, in the order of the sources. The same tool of two providers is two tools.
    """
    by_id: dict[str, ToolRecord] = {}
    hashes: dict[str, str] = {}
    identical: dict[str, str] = {}
    numbers: dict[str, int] = {}
    notices: list[Notice] = []
    tools = list(tools)
    keys = [digest([getattr(raw, name) for name in _CONTENT]) for raw in tools]
    all_read = (memo or Memo()).results("normalize", keys, _Read, lambda places: [_read(tools[p]) for p in places])
    for raw, read in zip(tools, all_read, strict=True):
        record, content = normalize(raw, read.parameters), read.content
        if duplicate := identical.get(content):
            notices.append(Notice(duplicate, "merged", f"{record.tool_id} is an exact duplicate", record.origin))
            continue
        if (wanted := record.tool_id) in by_id:
            record = replace(record, tool_id=numbered_id(wanted, numbers, by_id))
            notices.append(Notice(record.tool_id, "renamed", f"the id {wanted} was taken", record.origin))
        if not record.description:
            notices.append(Notice(record.tool_id, "thin", "it has no description", record.origin))
        if read.script:
            notices.append(_unread(record, read.script))
        notices.extend(Notice(record.tool_id, "open", message, record.origin) for message in dict.fromkeys(raw.notices))
        identical[content] = record.tool_id
        by_id[record.tool_id] = record
        hashes[record.tool_id] = content
    records = tuple(by_id[tool_id] for tool_id in sorted(by_id))
    return Catalog(records, hashes, tuple(notices))
