"""Define judged requests, and read them from JSONL."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from router.errors import SettingsInvalid
from router.tools.definitions.json_values import parse_json

KINDS = ("single", "multi", "none")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A request and the tools that answer it.

    `required` are the primary tools, `acceptable` those and valid alternatives. `groups`, where present, replace
    `required`: a step is met by any one tool of its group. `kind` is "single", "multi" or "none"; `slice` is the
    judge's own name for the sort of request, "" where there is none.
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
    def relevant(self) -> frozenset[str]:
        """Every tool that is right in a ranking: acceptable or required."""
        return self.acceptable | self.required

    @property
    def tools(self) -> frozenset[str]:
        """Every tool that the judgement names."""
        return self.relevant.union(*self.groups)


def judgements_of(folder: Path) -> Path | None:
    """Return a folder's file of judged requests: a benchmark's queries.jsonl, else a catalog's judgements.jsonl."""
    files = (folder / name for name in ("queries.jsonl", "judgements.jsonl"))
    return next((file for file in files if file.is_file()), None)


def read_judgements(path: Path) -> list[Judgement]:
    """Return the judgements of a JSONL file. Raises SettingsInvalid, with file and line, where one cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # not splitlines(): a request may hold U+2028
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"the judged requests {path} cannot be read: {error}") from error
    judgements: dict[str, Judgement] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            judgement = _judgement(parse_json(line))
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise SettingsInvalid(f"{path}, line {number}: not a judged request: {error!r}") from error
        if judgement.id in judgements:
            # Requests are paired by id: between two settings, and in the files of other tools.
            raise SettingsInvalid(
                f"{path}, line {number}: the id {judgement.id!r} belongs to an earlier request already"
            )
        judgements[judgement.id] = judgement
    return list(judgements.values())


def _judgement(row: Any) -> Judgement:
    if row["kind"] not in KINDS:
        raise ValueError(f"kind is {row['kind']!r}, it must be {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    if not _text(row["query"]).strip():
        raise ValueError("query is empty")
    return Judgement(
        str(row["id"]),
        row["query"],
        _ids(row["required"]),
        _ids(row["acceptable"]),
        row["kind"],
        tuple(_ids(group) for group in row.get("groups") or ()),
        _text(row.get("slice") or ""),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _ids(value: object) -> frozenset[str]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list of tool ids")
    return frozenset(_text(item) for item in value)
