"""Read from the serving snapshot, once, what a build compares itself with."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from pipeline.errors import SnapshotInvalid
from pipeline.inspection.comparison_sql import expansions
from pipeline.inspection.connection import first_lines
from pipeline.inspection.reading import Inspection
from router.contract import CATALOG_DB, Manifest
from router.expansion import Expansion

_COLUMNS = ("record_hash", "origin_file", "generator")
_TOOLS = "SELECT tool_id, record_hash, origin_file, generator FROM tools LEFT JOIN expansions USING (tool_id)"
_TEXTS = (
    "SELECT tool_id, record_hash, [name_document, description_document, expansion_document, dense_document] AS "
    "documents FROM tools"
)
_EXPANSIONS = f"FROM ({expansions('expansions')}) WHERE tool_id IN (SELECT unnest(?::VARCHAR[]))"
_LISTS = ("user_phrases", "synonyms", "related_concepts", "task_categories", "requires", "provides")


@dataclass(frozen=True, slots=True)
class ServedTexts:
    """The hash of a serving tool's record, and its documents: name, description, expansion, dense."""

    record_hash: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServedTools:
    """The serving tools by id: the hash of each record, the file it was read from, and who wrote its expansion.

    `snapshot` is the name of the snapshot that serves; None where none does, or none that can be inspected. `problem`
    says why a snapshot of this format, which serves, cannot be.
    """

    snapshot: str | None = None
    record_hashes: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    generators: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""

    @classmethod
    def read(cls, folder: Path | None) -> "ServedTools":
        """Read a snapshot's folder.

        Empty without a folder, and for a snapshot of another format: what it held is not known, and nothing is claimed.
        """
        if folder is None:
            return cls()
        try:
            with Inspection.open(folder) as inspection:
                rows = inspection.rows(_TOOLS)
                by_id = {column: {row["tool_id"]: row[column] for row in rows} for column in _COLUMNS}
                generators = {tool_id: name for tool_id, name in by_id["generator"].items() if name is not None}
                return cls(inspection.folder.name, by_id["record_hash"], by_id["origin_file"], generators)
        except (SnapshotInvalid, duckdb.Error) as error:
            return cls(problem=" ".join(str(error).split()) if _has_this_format(folder) else "")

    @property
    def reasons_against_replacing(self) -> tuple[str, ...]:
        """Return why nothing must replace what serves: the gates cannot see what it would lose."""
        if not self.problem:
            return ()
        return (f"what serves cannot be compared, so tools that would be lost are not known: {self.problem}",)


def _has_this_format(folder: Path) -> bool:
    try:
        Manifest.read(folder)
    except SnapshotInvalid:
        return False
    return True


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
    with _readable(folder) as inspection:
        return {
            row["tool_id"]: (row["generator"], row["model"], row["expansion_key"], _expansion(row))
            for row in inspection.rows(_EXPANSIONS, [list(tool_ids)])
        }


def _expansion(row: Mapping[str, Any]) -> Expansion:
    lists = {name: tuple(row[name]) for name in _LISTS}
    translations = {code: tuple(texts) for code, texts in row["translations"].items()}
    return Expansion(row["when_to_use"], translations=translations, **lists)


@contextmanager
def _readable(folder: Path) -> Iterator[Inspection]:
    """Open a snapshot's folder. Raises SnapshotInvalid, also for what DuckDB cannot read later."""
    with Inspection.open(folder) as inspection:
        try:
            yield inspection
        except duckdb.Error as error:
            raise SnapshotInvalid(f"{folder / CATALOG_DB} cannot be read: {first_lines(error)}") from error
