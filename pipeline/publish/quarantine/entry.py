"""What is told of a tool that is held back."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class QuarantinedTool:
    """A tool that is held back alone.

    Attributes:
        tool_id: Its id.
        kind: "new", which is left out, or "changed", which serves as it was.
        content_hash: The hash of its record and texts, which the decision about it is for.
        since: When it was first held back, in UTC.
        requests: How many requests of other providers' tools it would enter the first five of.
        probes: How many requests it was tried on.
        distance: How far these requests are from its name and first sentence, in the mean, from 0 to 1.
        examples: A few of them, each with the ids of the tools that serve it now.
        told: Whether an earlier build has told of it.
    """

    tool_id: str
    kind: str
    content_hash: str
    since: datetime
    requests: int
    probes: int
    distance: float
    examples: tuple[tuple[str, tuple[str, ...]], ...] = ()
    told: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, for programs."""
        return {
            "tool_id": self.tool_id,
            "kind": self.kind,
            "since": self.since.isoformat(timespec="seconds"),
            "requests": self.requests,
            "probes": self.probes,
            "distance": round(self.distance, 3),
            "examples": [{"request": request, "served": list(served)} for request, served in self.examples],
            "content_hash": self.content_hash,
        }

    def __str__(self) -> str:
        """Return a sentence about it."""
        what = "is left out" if self.kind == "new" else "serves as it was before its change"
        return (
            f"{self.tool_id} {what}: it would enter the first five of {self.requests:,} of {self.probes:,} requests of "
            f"other tools, which its name and first sentence do not fit (distance {self.distance:.2f})"
        )
