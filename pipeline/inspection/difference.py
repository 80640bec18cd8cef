"""Find which tools are new, changed or gone, by the hashes of their records."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.inspection.served_tools import ServedTools


@dataclass(frozen=True, slots=True)
class ToolDifference:
    """The ids of the tools that differ from those of `snapshot`, each list sorted.

    Where none served before, `snapshot` is None and every tool is new.
    """

    snapshot: str | None = None
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @classmethod
    def between(
        cls, before: Mapping[str, str], after: Mapping[str, str], snapshot: str | None = None
    ) -> "ToolDifference":
        """Compare the hashes of records by tool id."""
        return cls(
            snapshot,
            added=tuple(sorted(after.keys() - before.keys())),
            changed=tuple(sorted(tool for tool in after.keys() & before.keys() if after[tool] != before[tool])),
            removed=tuple(sorted(before.keys() - after.keys())),
        )

    @classmethod
    def since(cls, served: ServedTools, after: Mapping[str, str]) -> "ToolDifference":
        """Compare with the tools that serve."""
        return cls.between(served.record_hashes, after, served.snapshot)

    def to_json(self, most: int) -> dict[str, Any]:
        """Return a JSON-ready dict: how many tools of each kind of change, and the ids of at most `most` of each."""
        kinds = {"added": self.added, "changed": self.changed, "removed": self.removed}
        return {"changes": {kind: {"count": len(ids), "tools": list(ids[:most])} for kind, ids in kinds.items()}}

    def __str__(self) -> str:
        counts = f"{len(self.added):,} new, {len(self.changed):,} changed, {len(self.removed):,} removed"
        return f"{counts} since {self.snapshot}" if self.snapshot else f"{counts}: no snapshot served before"
