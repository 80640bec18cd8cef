"""Read from the serving snapshot what a build compares itself with."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb

from pipeline.build_state import MissingTools, ToolDifference
from pipeline.errors import SnapshotInvalid
from pipeline.inspection.comparison_sql import expansions
from pipeline.inspection.reading import Inspection, first_lines
from pipeline.sources import Reading
from router.contract import CATALOG_DB, Manifest
from router.expansion import Expansion

_TOOLS = "SELECT tool_id, record_hash, origin_file, generator FROM tools LEFT JOIN expansions USING (tool_id)"
_TEXTS = (
    "SELECT tool_id, record_hash, [name_document, description_document, expansion_document, dense_document] AS "
    "documents FROM tools"
)
_EXPANSIONS = f"FROM ({expansions('expansions')}) WHERE tool_id IN (SELECT unnest(?::VARCHAR[]))"
_LISTS = ("user_phrases", "synonyms", "related_concepts", "task_categories", "requires", "provides")


@dataclass(frozen=True, slots=True)
class ServedTools:
    """The serving tools by id: the hash of each record, the file it was read from, and who wrote its expansion.

    `snapshot` is the name of the snapshot that serves; None where none does, or none that can be inspected. `problem`
    says why a snapshot of this format, which serves, cannot be. All ids are those of today; `renamed` are former ones.
    """

    snapshot: str | None = None
    record_hashes: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    generators: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    renamed: Set[str] = frozenset()

    @classmethod
    def read(cls, folder: Path | None, former_ids: Mapping[str, str]) -> "ServedTools":
        """Read a snapshot's folder.

        Empty without a folder, and for a snapshot of another format: what it held is not known, and nothing is claimed.
        """
        if folder is None:
            return cls()
        try:
            with _readable(folder) as inspection:
                rows = inspection.rows(_TOOLS)
        except SnapshotInvalid as error:
            return cls(problem=" ".join(str(error).split()) if _has_this_format(folder) else "")
        by_id = {former_ids.get(row["tool_id"], row["tool_id"]): row for row in rows}
        return cls(
            inspection.folder.name,
            {tool_id: row["record_hash"] for tool_id, row in by_id.items()},
            {tool_id: row["origin_file"] for tool_id, row in by_id.items()},
            {tool_id: row["generator"] for tool_id, row in by_id.items() if row["generator"] is not None},
            renamed=former_ids.keys() & {row["tool_id"] for row in rows},
        )

    def difference(self, hashes: Mapping[str, str]) -> ToolDifference:
        """Return how a build's tools differ from these, by the hashes of their records."""
        before = self.record_hashes
        return ToolDifference(
            self.snapshot,
            added=tuple(sorted(hashes.keys() - before.keys())),
            changed=tuple(sorted(tool for tool in hashes.keys() & before.keys() if hashes[tool] != before[tool])),
            removed=tuple(sorted(before.keys() - hashes.keys())),
        )

    def missing(self, reading: Reading, tool_ids: Collection[str]) -> MissingTools:
        """Count, for each source that gave no tool, the tools that came from it and are not among `tool_ids`."""
        lost = Counter(origin for tool_id, origin in self.origins.items() if tool_id not in tool_ids)
        gaps = tuple(replace(gap, serving=lost[gap.origin]) for gap in reading.gaps)
        return MissingTools(gaps, reading.sources, len(self.origins))


def _has_this_format(folder: Path) -> bool:
    try:
        Manifest.read(folder)
    except SnapshotInvalid:
        return False
    return True


@dataclass(frozen=True, slots=True)
class ServedTexts:
    """The hash of a serving tool's record, and its documents: name, description, expansion, dense."""

    record_hash: str
    texts: tuple[str, ...]


def served_texts(folder: Path) -> dict[str, ServedTexts]:
    """Return the texts of each tool in a snapshot's folder, by id. Raises SnapshotInvalid."""
    with _readable(folder) as inspection:
        return {
            row["tool_id"]: ServedTexts(row["record_hash"], tuple(row["documents"])) for row in inspection.rows(_TEXTS)
        }


def served_expansions(folder: Path, tool_ids: Sequence[str]) -> dict[str, tuple[str, str, str, Expansion]]:
    """Return generator, model, key and expansion of some tools in a snapshot's folder, by id.

    Raises SnapshotInvalid.
    """
    found = {}
    with _readable(folder) as inspection:
        for row in inspection.rows(_EXPANSIONS, [list(tool_ids)]):
            lists = {name: tuple(row[name]) for name in _LISTS}
            translations = {code: tuple(texts) for code, texts in row["translations"].items()}
            expansion = Expansion(row["when_to_use"], translations=translations, **lists)
            found[row["tool_id"]] = (row["generator"], row["model"], row["expansion_key"], expansion)
    return found


@contextmanager
def _readable(folder: Path) -> Iterator[Inspection]:
    """Open a snapshot's folder. Raises SnapshotInvalid, also for what DuckDB cannot read later."""
    with Inspection.open(folder) as inspection:
        try:
            yield inspection
        except duckdb.Error as error:
            raise SnapshotInvalid(f"{folder / CATALOG_DB} cannot be read: {first_lines(error)}") from error
