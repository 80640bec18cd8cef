"""What the router answers: tools with their reasons, and whether any fits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from router.contract import Signal
from router.record import ToolRecord


@dataclass(frozen=True, slots=True)
class RoutedTool:
    """One tool of an answer.

    `score` is the fused score: it orders the tools of one answer and says nothing across answers. `also_from` are the
    ids of the same tool of other providers, which take no place of their own.

    With `explain`, `ranks` and `contributions` hold each list that ranked the tool, and `phrase` the nearest of its
    generated phrases. `assumed` is how much of the expansion's contribution no list gave: a tool without expansion is
    not placed behind the others for the lack of it. `step` is the part of a request of several steps that the tool
    serves best, and `gain` what it gave. Contributions and gain add up to the score.
    """

    tool_id: str
    record: ToolRecord
    score: float
    ranks: Mapping[Signal, int] = field(default_factory=dict)
    contributions: Mapping[Signal, float] = field(default_factory=dict)
    phrase: str | None = None
    assumed: float = 0.0
    step: str | None = None
    gain: float = 0.0
    also_from: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict, for programs."""
        return {
            "tool_id": self.tool_id,
            "score": self.score,
            "ranks": {str(signal): rank for signal, rank in self.ranks.items()},
            "contributions": {str(signal): part for signal, part in self.contributions.items()},
            "assumed": self.assumed,
            "step": self.step,
            "gain": self.gain,
            "phrase": self.phrase,
            "also_from": list(self.also_from),
            "record": self.record.to_json(),
        }


@dataclass(frozen=True, slots=True)
class RoutedTools:
    """An answer: tools by falling score, the id of the one snapshot that gave it, and the recipe that made it.

    `fits` is the probability that some tool fits, where as many requests have a fitting tool as have none; None where
    the snapshot was not calibrated for the recipe's lists. `none_fits` says that it is below the snapshot's threshold:
    the tools are then what came closest. `steps` are the parts of a request of several steps.
    """

    tools: tuple[RoutedTool, ...]
    snapshot: str
    recipe: str
    fits: float | None = None
    none_fits: bool = False
    steps: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[RoutedTool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __getitem__(self, position: int) -> RoutedTool:
        return self.tools[position]

    @property
    def ids(self) -> tuple[str, ...]:
        """The tools' ids, best first."""
        return tuple(tool.tool_id for tool in self.tools)

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict, for programs."""
        return {
            "snapshot": self.snapshot,
            "recipe": self.recipe,
            "fits": self.fits,
            "none_fits": self.none_fits,
            "steps": list(self.steps),
            "tools": [tool.to_json() for tool in self.tools],
        }
