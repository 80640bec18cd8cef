"""The counts of one target's run, added up over workers."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(slots=True)
class Tally:
    """What a target's inputs came to. `findings` counts inputs by signature; `peak_mb` is beyond the start's."""

    target: str
    inputs: int = 0
    accepted: int = 0
    seconds: float = 0.0
    slowest_s: float = 0.0
    peak_mb: float = 0.0
    lines: int = 0
    findings: dict[str, int] = field(default_factory=dict)

    def add(self, other: "Tally") -> None:
        """Add the counts of another worker's run."""
        self.inputs += other.inputs
        self.accepted += other.accepted
        self.seconds += other.seconds
        self.slowest_s = max(self.slowest_s, other.slowest_s)
        self.peak_mb = max(self.peak_mb, other.peak_mb)
        self.lines = max(self.lines, other.lines)
        for signature, count in other.findings.items():
            self.findings[signature] = self.findings.get(signature, 0) + count

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, whose items `Tally` takes."""
        return asdict(self)
