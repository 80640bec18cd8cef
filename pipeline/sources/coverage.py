"""Measure how much of each source was read, report what was not, and name the sources that gave no tool."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pipeline.errors import RecordRejected, RunAborted, Unavailable
from pipeline.sentences import named
from router.record import Origin
from router.tools.definitions.raw_tool import RawTool
from router.tools.definitions.rows import parameter_rows
from router.tools.trust.characters import strip_hidden

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
    `unnamed` are the keys of records without a name, most frequent first; `notices` say what the source as a whole
    lacks, such as further pages.
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
    notices: tuple[str, ...] = ()

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
        problems = [*self.notices]
        if self.lost_parameters:
            problems.append(
                f"{self.lost_parameters:,} of {self.tools:,} tools declare parameters under "
                f"{_quoted(self.lost_under)} that could not be read"
            )
        if advice := self.advice:
            problems.append(advice)
        elif self.rejected:
            why = [f"{count:,} because {reason}" for reason, count in self.reasons.items()]
            reasons = "; ".join([*why[:3], "…"] if len(why) > 3 else why)
            problems.append(f"{self.rejected:,} of {self.records:,} records were rejected: {reasons}")
        if unread := [key for key in self.unread if key.key not in self.lost_under]:  # those are reported above
            keys = [f"{key.key} ({key.records:,}: {key.example})" for key in unread]
            problems.append(f"keys that were not read: {named(keys, _SHOWN_KEYS)}")
        if self.empty:
            problems.append("it holds no tool")
        return tuple(map(strip_hidden, problems))

    @property
    def advice(self) -> str | None:
        """How to map a key to the name, where every record lacks one; else None."""
        if not self.unnamed or self.rejected < self.records:
            return None
        guess = next((key for key in self.unnamed if "name" in key.lower()), self.unnamed[0])
        # As a JMESPath expression in TOML.
        plain = guess.isidentifier() and guess.isascii()
        expression = f'"{guess}"' if plain else f"'{json.dumps(guess, ensure_ascii=False)}'"
        # The setting that should give the name and does not.
        selector = next((f": {reason}" for reason in self.reasons if reason.startswith("source.fields")), "")
        return strip_hidden(
            f"none of the {self.records:,} records has a name{selector}. "
            f"Their keys are {_quoted(self.unnamed[:_SHOWN_KEYS])}: say in catalog.toml, under the [[source]], "
            f"which of them is which, such as [source.fields] name = {expression}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, for programs."""
        row = {name: value for name, value in msgspec.to_builtins(self).items() if name not in ("source", "unnamed")}
        return {"records": row.pop("records"), "tools": self.tools, **row, "problems": list(self.problems)}


def coverage_of(
    source: str, tools: Sequence[RawTool], rejected: Sequence[RecordRejected], notices: tuple[str, ...] = ()
) -> Coverage:
    """Return the coverage of a source, a file or a server."""
    lost = Counter(tool.lost for tool in tools if tool.lost)
    unread = Counter(key for tool in tools for key in tool.unread)
    examples = {key: example for tool in reversed(tools) for key, example in tool.unread.items()}  # the first of each
    return Coverage(
        source=source,
        records=len(tools) + len(rejected),
        described=sum(bool(tool.description.strip()) for tool in tools),
        with_parameters=sum(
            bool(tool.input_schema.get("properties") or parameter_rows(tool.input_schema)) for tool in tools
        ),
        lost_parameters=lost.total(),
        lost_under=_by_frequency(lost),
        rejected=len(rejected),
        reasons=dict(Counter(record.reason for record in rejected).most_common()),
        shapes=dict(Counter(tool.shape for tool in tools if tool.shape).most_common()),
        unread=tuple(
            UnreadKey(key, count, examples[key])
            for key, count in unread.most_common()
            if count >= _MANY * len(tools) or any(word in key.lower() for word in _TELLING)
        ),
        unnamed=_by_frequency(Counter(key for record in rejected for key in record.keys)),
        notices=notices,
    )


def by_source(coverage: Iterable[Coverage]) -> dict[str, Coverage]:
    """Return coverages by their source; of sources of one name, the second is `name (2)`."""
    found: dict[str, Coverage] = {}
    for one in coverage:
        name, number = one.source, 1
        while name in found:
            number += 1
            name = f"{one.source} ({number})"
        found[name] = one
    return found


def _by_frequency(keys: Counter[str]) -> tuple[str, ...]:
    return tuple(key for key, _ in keys.most_common())


def _quoted(keys: Iterable[str]) -> str:
    return ", ".join(f"`{key}`" for key in keys)


@dataclass(frozen=True, slots=True)
class Gap:
    """A source without tools. `reason` says why it could not be read; it is empty where the source has none.

    `origin` is the file of its tools' origins. `serving` counts the tools of the serving snapshot that came from it and
    are missing now. `key` names the source in the ledger.
    """

    source: str
    origin: str
    reason: str = ""
    serving: int = 0
    key: str = ""

    @property
    def skipped(self) -> bool:
        """Whether the source was left out because it could not be read."""
        return bool(self.reason)

    def rejection(self) -> RecordRejected:
        """Return the source as a rejected record, for the tables that list those."""
        return RecordRejected(Origin(self.source, ""), f"the whole source was skipped: {self.reason}")

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, for programs."""
        row = {"source": self.source, "serving_tools": self.serving}
        return {**row, "reason": self.reason} if self.skipped else row


def stopped(problems: Sequence[RunAborted], sources: int) -> RunAborted:
    """Return one error for all sources that cannot be read: Unavailable where each may be read another time."""
    if sources == 1:
        return problems[0]
    kind = Unavailable if all(isinstance(problem, Unavailable) for problem in problems) else RunAborted
    lines = [" ".join(str(problem).split()) for problem in problems]
    this, it = ("this", "it") if len(lines) == 1 else ("them", "them")
    way_out = f"mend {this}, or build without {it}: --skip-unreadable (sources.skip_unreadable)"
    if len(lines) == 1:
        return kind(f"{lines[0]}\n{way_out}")
    listed = "\n  ".join([f"{len(lines):,} of {sources:,} sources cannot be read:", *lines])
    # Without all of them there is nothing to build.
    return kind(listed if len(lines) == sources else f"{listed}\n{way_out}")


def empties(gaps: Iterable[Gap], sources: int) -> str:
    """Return a sentence that counts the sources without a tool and names a few; empty where there are none."""
    names = [gap.source for gap in gaps if not gap.skipped]
    if not names:
        return ""
    return f"{len(names):,} of {sources:,} sources {'holds' if len(names) == 1 else 'hold'} no tool: {named(names)}"
