"""On how many tools of a build the prerequisite graph acts."""

from collections.abc import Sequence
from dataclasses import dataclass

from router.contract import Manifest
from router.record import ToolRecord


@dataclass(frozen=True, slots=True)
class PrerequisiteCounts:
    """On how many tools of a snapshot the prerequisite graph acts.

    Attributes:
        tools: How many tools need another to run first.
        edges: How many pairs of a need and a tool that resolves it there are.
        candidates: How many tools have a provider: no other tool can need one, or be needed.
        total: How many tools there are.
    """

    tools: int
    edges: int
    candidates: int
    total: int

    @classmethod
    def of(cls, manifest: Manifest, records: Sequence[ToolRecord]) -> "PrerequisiteCounts | None":
        """Return the counts of a snapshot; None where its recipe brings no prerequisites."""
        if "prerequisites" not in manifest.counts:
            return None
        candidates = sum(bool(record.provider) for record in records)
        return cls(
            manifest.counts["prerequisites"], manifest.counts.get("prerequisite_edges", 0), candidates, len(records)
        )

    def __str__(self) -> str:
        if not self.candidates:
            return "none: no tool has a provider"
        if not self.edges:
            return "none: no tool finds what another needs"
        tools = f"{self.tools:,} of {self.total:,} tools need another first"
        return f"{tools}, {self.edges:,} {'edge' if self.edges == 1 else 'edges'}"

    def to_json(self) -> dict[str, int]:
        """Return a JSON-ready dict."""
        return {"tools": self.tools, "edges": self.edges, "candidates": self.candidates}
