"""Counts the serving tools that a build lacks because their source gave none."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.inspection.served_tools import ServedTools
from pipeline.sources import Gap


@dataclass(frozen=True, slots=True)
class MissingTools:
    """Sources without tools, each with the number of serving tools that are missing for it.

    `sources` counts all sources of the catalog, `serving` all tools of the serving snapshot.
    """

    gaps: tuple[Gap, ...] = ()
    sources: int = 1
    serving: int = 0

    @property
    def skipped(self) -> tuple[Gap, ...]:
        """Return the sources that could not be read."""
        return tuple(gap for gap in self.gaps if gap.skipped)

    @property
    def empty(self) -> tuple[Gap, ...]:
        """Return the sources that hold no tool."""
        return tuple(gap for gap in self.gaps if not gap.skipped)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict: the number of sources, and those that were skipped or are empty."""
        return {
            "sources": self.sources,
            "skipped": [gap.to_json() for gap in self.skipped],
            "empty": [gap.to_json() for gap in self.empty],
        }


def count_missing_tools(
    gaps: Sequence[Gap], sources: int, tool_ids: Collection[str], serving: Path | None
) -> MissingTools:
    """Count, for each gap, the tools of the `serving` snapshot that came from it and are not among `tool_ids`."""
    origins = ServedTools.read(serving).origins if gaps else {}
    lost = Counter(origin for tool_id, origin in origins.items() if tool_id not in tool_ids)
    return MissingTools(tuple(replace(gap, serving=lost[gap.origin]) for gap in gaps), sources, len(origins))
