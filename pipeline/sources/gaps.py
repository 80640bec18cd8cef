"""Describe sources that gave no tool: those that could not be read, and those that have none."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.errors import RecordRejected, RunAborted, Unavailable
from pipeline.sentences import named
from pipeline.settings import SourceSettings
from pipeline.sources.coverage import Coverage
from pipeline.sources.naming import location
from router.record import Origin


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
        told = {"source": self.source, "serving_tools": self.serving}
        return {**told, "reason": self.reason} if self.skipped else told


def name_of(source: SourceSettings) -> str:
    """Return a source's name in messages: its path as written, its program or its URL, without secrets."""
    return str(source.path) if source.path is not None else location(source)


def origin_of(source: SourceSettings) -> str:
    """Return the file that the origins of a source's tools name."""
    return source.path.name if source.path is not None else location(source)


def stopped(problems: Sequence[RunAborted], sources: int) -> RunAborted:
    """Return one error for all sources that cannot be read: Unavailable where each may be read another time."""
    if sources == 1:
        return problems[0]
    kind = Unavailable if all(isinstance(problem, Unavailable) for problem in problems) else RunAborted
    lines = [" ".join(str(problem).split()) for problem in problems]
    way_out = "mend this, or build without it: --skip-unreadable (sources.skip_unreadable)"
    if len(lines) == 1:
        return kind(f"{lines[0]}\n{way_out}")
    told = "\n  ".join([f"{len(lines):,} of {sources:,} sources cannot be read:", *lines])
    if len(lines) == sources:
        return kind(told)  # there is nothing to build without them
    return kind(f"{told}\n{way_out.replace('this', 'them').replace('without it', 'without them')}")


def no_tool(
    catalog: str,
    gaps: Sequence[Gap],
    sources: int,
    rejected: Sequence[RecordRejected],
    coverage: Sequence[Coverage] = (),
) -> RunAborted:
    """Return the error for a catalog whose sources, all together, gave no tool."""
    why = [f"{one.source}: {one.advice}" for one in coverage if one.advice]
    if rejected and not why:
        why.append(f"{len(rejected):,} were rejected, the first {rejected[0]}")
    why += [told] if sources > 1 and (told := empties(gaps, sources)) else []
    why += [gap.reason for gap in gaps if gap.skipped]
    return RunAborted(f"the catalog {catalog!r} holds no tool{': ' * bool(why)}{'; '.join(why)}")


def empties(gaps: Iterable[Gap], sources: int) -> str:
    """Return a sentence that counts the sources without a tool and names a few; empty where there are none."""
    names = [gap.source for gap in gaps if not gap.skipped]
    if not names:
        return ""
    return f"{len(names):,} of {sources:,} sources {'holds' if len(names) == 1 else 'hold'} no tool: {named(names)}"
