"""Queries with qrels: requests and the tools that answer them, read from JSONL."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from router.errors import SettingsInvalid

KINDS = ("single", "multi", "none")


class Judgement(msgspec.Struct, frozen=True, rename={"request": "query"}):
    """A request and the tools that answer it.

    `required` are the primary tools, `acceptable` those and valid alternatives. `groups`, where present, replace
    `required`: a step is met by any one tool of its group. `kind` is "single", "multi" or "none"; `slice` is the
    judge's name for the sort of request, "" where there is none. `needs` are what its caller states beside it.
    """

    id: str
    request: str
    required: frozenset[str]
    acceptable: frozenset[str]
    kind: str
    groups: tuple[frozenset[str], ...] = ()
    slice: str = ""
    needs: tuple[str, ...] = ()

    @property
    def steps(self) -> tuple[frozenset[str], ...]:
        """The steps that full recall counts: each group, or each required tool as a group of one."""
        return self.groups or tuple(frozenset({tool_id}) for tool_id in sorted(self.required))

    @property
    def primary(self) -> frozenset[str]:
        """The tools that a good answer has first: those of the steps, or else the acceptable ones."""
        return self.required.union(*self.groups) or self.acceptable

    @property
    def relevant(self) -> frozenset[str]:
        """Every tool that is right in a ranking: acceptable or required."""
        return self.acceptable | self.required

    @property
    def tools(self) -> frozenset[str]:
        """Every tool that the judgement names."""
        return self.relevant.union(*self.groups)

    def with_ids(self, ids: Mapping[str, str]) -> "Judgement":
        """Return the judgement with the ids of today by those that it has; one that is not among them stays."""
        named = (self.required, self.acceptable, *self.groups)
        required, acceptable, *groups = (frozenset(ids.get(tool, tool) for tool in tools) for tools in named)
        return replace(self, required=required, acceptable=acceptable, groups=tuple(groups))


_Row = TypeVar("_Row", Judgement, "RequestNeeds")


def judgements_of(folder: Path) -> Path | None:
    """Return a folder's file of queries with qrels: a benchmark's queries.jsonl, else a catalog's judgements.jsonl."""
    files = (folder / name for name in ("queries.jsonl", "judgements.jsonl"))
    return next((file for file in files if file.is_file()), None)


def read_judgements(path: Path) -> list[Judgement]:
    """Return the judgements of a JSONL file. Raises SettingsInvalid, with file and line, where one cannot be read."""
    return _read_lines(path, "query with qrels", _judgement)


class RequestNeeds(msgspec.Struct, frozen=True):
    """The needs of a request, by its id."""

    id: str
    needs: tuple[str, ...]


def with_needs(judgements: Sequence[Judgement], path: Path) -> list[Judgement]:
    """Return the judgements for which a JSONL file has needs, with them.

    Raises SettingsInvalid, with file and line, where it cannot be read, and where it has needs for none of them.
    """
    rows = _read_lines(path, "request's needs", lambda row: msgspec.convert(row, RequestNeeds))
    by_id = {row.id: row.needs for row in rows}
    found = [replace(one, needs=by_id[one.id]) for one in judgements if by_id.get(one.id)]
    if not found:
        raise SettingsInvalid(f"{path} has needs for none of the {len(judgements):,} requests: ids are compared")
    return found


def _read_lines(path: Path, what: str, read: Callable[[dict[str, Any]], _Row]) -> list[_Row]:
    """Return the rows of a JSONL file, whose ids differ."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # not splitlines(): a request may hold U+2028
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"{path} cannot be read: {error}") from error
    rows: dict[str, _Row] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = read(msgspec.json.decode(line, type=dict[str, Any]))
        except (ValueError, RecursionError) as error:
            raise SettingsInvalid(f"{path}, line {number}: not a {what}: {error}") from error
        if row.id in rows:
            # Requests are paired by id: between two settings, and in the files of other tools.
            raise SettingsInvalid(f"{path}, line {number}: the id {row.id!r} belongs to an earlier request")
        rows[row.id] = row
    return list(rows.values())


def _judgement(row: dict[str, Any]) -> Judgement:
    given = {name: value for name, value in row.items() if value is not None}
    judgement = msgspec.convert({**given, "id": str(row.get("id"))} if "id" in given else given, Judgement)
    if judgement.kind not in KINDS:
        raise ValueError(f"kind is {judgement.kind!r}, it must be {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    if not judgement.request.strip():
        raise ValueError("query is empty")
    return judgement
