"""Queries with qrels: requests and the tools that answer them, read from JSONL."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from router.errors import SettingsInvalid

KINDS = ("single", "multi", "none")


class Judgement(msgspec.Struct, frozen=True, rename={"request": "query"}):
    """A request and the tools that answer it.

    `required` are the primary tools, `acceptable` those and valid alternatives. `groups`, where present, replace
    `required`: a step is met by any one tool of its group. `kind` is "single", "multi" or "none"; `slice` is the
    judge's name for the sort of request, "" where there is none.
    """

    id: str
    request: str
    required: frozenset[str]
    acceptable: frozenset[str]
    kind: str
    groups: tuple[frozenset[str], ...] = ()
    slice: str = ""

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
        return msgspec.structs.replace(self, required=required, acceptable=acceptable, groups=tuple(groups))


def judgements_of(folder: Path) -> Path | None:
    """Return a folder's file of queries with qrels: a benchmark's queries.jsonl, else a catalog's judgements.jsonl."""
    files = (folder / name for name in ("queries.jsonl", "judgements.jsonl"))
    return next((file for file in files if file.is_file()), None)


def read_judgements(path: Path) -> list[Judgement]:
    """Return the judgements of a JSONL file. Raises SettingsInvalid, with file and line, where one cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # not splitlines(): a request may hold U+2028
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"the queries with qrels {path} cannot be read: {error}") from error
    judgements: dict[str, Judgement] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            judgement = _judgement(msgspec.json.decode(line, type=dict[str, Any]))
        except (ValueError, RecursionError) as error:
            raise SettingsInvalid(f"{path}, line {number}: not a query with qrels: {error}") from error
        if judgement.id in judgements:
            # Requests are paired by id: between two settings, and in the files of other tools.
            raise SettingsInvalid(f"{path}, line {number}: the id {judgement.id!r} belongs to an earlier request")
        judgements[judgement.id] = judgement
    return list(judgements.values())


def _judgement(row: dict[str, Any]) -> Judgement:
    given = {name: value for name, value in row.items() if value is not None}
    judgement = msgspec.convert({**given, "id": str(row.get("id"))} if "id" in given else given, Judgement)
    if judgement.kind not in KINDS:
        raise ValueError(f"kind is {judgement.kind!r}, it must be {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    if not judgement.request.strip():
        raise ValueError("query is empty")
    return judgement
