"""Measure how much of each source was read, and report what was not."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pipeline.errors import RecordRejected
from router.tools.definitions.raw_tool import RawTool
from router.tools.definitions.rows import parameter_rows

# A key on at least this share of a source's records is reported.
_MANY = 0.2
# A key with one of these in its name is always reported: it may be a known field under another name.
_TELLING = ("param", "arg", "input", "schema", "desc", "name", "summary", "example", "categor", "prompt", "usage")
_SHOWN_KEYS = 8


@dataclass(frozen=True, slots=True)
class UnreadKey:
    """A key that no reader knows: the number of records that have it, and its first value, shortened."""

    key: str
    records: int
    example: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a source was read. `records` counts all records, rejected ones too.

    `described` and `with_parameters` count tools; `lost_parameters` counts those that declare parameters in a shape
    that no reader knows, under the keys `lost_under`. `shapes` counts tools by the place and shape of their parameters.
    `unnamed` are the keys of records without a name, most frequent first.
    """

    source: str
    records: int = 0
    described: int = 0
    with_parameters: int = 0
    lost_parameters: int = 0
    lost_under: tuple[str, ...] = ()
    rejected: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    shapes: Mapping[str, int] = field(default_factory=dict)
    unread: tuple[UnreadKey, ...] = ()
    unnamed: tuple[str, ...] = ()

    @property
    def tools(self) -> int:
        """The number of records that became tools."""
        return self.records - self.rejected

    @property
    def empty(self) -> bool:
        """Whether the source has no record, not even a rejected one."""
        return not self.records

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences about what an operator should look at, the worst first; empty where all was read."""
        problems = []
        if self.lost_parameters:
            problems.append(
                f"{self.lost_parameters:,} of {self.tools:,} tools declare parameters under "
                f"{_quoted(self.lost_under)} that could not be read"
            )
        if advice := self.advice:
            problems.append(advice)
        elif self.rejected:
            problems.append(f"{self.rejected:,} of {self.records:,} records were rejected: {_counted(self.reasons)}")
        if unread := [key for key in self.unread if key.key not in self.lost_under]:  # those are told above
            keys = ", ".join(f"{key.key} ({key.records:,}: {key.example})" for key in unread[:_SHOWN_KEYS])
            more = f" and {len(unread) - _SHOWN_KEYS:,} more" if len(unread) > _SHOWN_KEYS else ""
            problems.append(f"keys that were not read: {keys}{more}")
        if self.empty:
            problems.append("it holds no tool")
        return tuple(problems)

    @property
    def advice(self) -> str | None:
        """How to map a key to the name, where every record lacks one; else None."""
        if not self.unnamed or self.rejected < self.records:
            return None
        guess = next((key for key in self.unnamed if "name" in key.lower()), self.unnamed[0])
        return (
            f"none of the {self.records:,} records has a name{self._selector}. "
            f"Their keys are {_quoted(self.unnamed[:_SHOWN_KEYS])}: say in catalog.toml, under the [[source]], "
            f"which of them is which, such as [source.fields] name = {_expression(guess)}"
        )

    @property
    def _selector(self) -> str:
        """The setting that should give the name and does not; empty where there is none."""
        return next((f": {reason}" for reason in self.reasons if reason.startswith("source.fields")), "")

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, for programs."""
        row = {name: value for name, value in msgspec.to_builtins(self).items() if name not in ("source", "unnamed")}
        return {"records": row.pop("records"), "tools": self.tools, **row, "problems": list(self.problems)}


def coverage_of(source: str, tools: Sequence[RawTool], rejected: Sequence[RecordRejected]) -> Coverage:
    """Return the coverage of a source, a file or a server."""
    unnamed = Counter(key for record in rejected for key in record.keys)
    lost = Counter(tool.lost for tool in tools if tool.lost)
    return Coverage(
        source=source,
        records=len(tools) + len(rejected),
        described=sum(bool(tool.description.strip()) for tool in tools),
        with_parameters=sum(map(_takes_parameters, tools)),
        lost_parameters=lost.total(),
        lost_under=tuple(key for key, _ in lost.most_common()),
        rejected=len(rejected),
        reasons=dict(Counter(record.reason for record in rejected).most_common()),
        shapes=dict(Counter(tool.shape for tool in tools if tool.shape).most_common()),
        unread=_unread(tools),
        unnamed=tuple(key for key, _ in unnamed.most_common()),
    )


def by_source(coverage: Iterable[Coverage]) -> dict[str, Coverage]:
    """Return coverages by their source; of sources of one name, the second is `name (2)`."""
    named: dict[str, Coverage] = {}
    for one in coverage:
        name, number = one.source, 1
        while name in named:
            number += 1
            name = f"{one.source} ({number})"
        named[name] = one
    return named


def _takes_parameters(tool: RawTool) -> bool:
    return bool(tool.input_schema.get("properties")) or bool(parameter_rows(tool.input_schema))


def _unread(tools: Sequence[RawTool]) -> tuple[UnreadKey, ...]:
    """Return the keys that may matter: on many records, or named like a field that is read."""
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for tool in tools:
        for key, example in tool.unread.items():
            counts[key] += 1
            examples.setdefault(key, example)
    return tuple(
        UnreadKey(key, count, examples[key])
        for key, count in counts.most_common()
        if count >= _MANY * len(tools) or any(word in key.lower() for word in _TELLING)
    )


def _expression(key: str) -> str:
    """Return a key as a JMESPath expression in TOML."""
    return f'"{key}"' if key.isidentifier() and key.isascii() else f"'{json.dumps(key, ensure_ascii=False)}'"


def _quoted(keys: Iterable[str]) -> str:
    return ", ".join(f"`{key}`" for key in keys)


def _counted(reasons: Mapping[str, int]) -> str:
    listed = [f"{count:,} because {reason}" for reason, count in list(reasons.items())[:3]]
    return "; ".join(listed) + ("; …" if len(reasons) > 3 else "")
