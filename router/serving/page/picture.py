"""An answer's reasons as rows to draw: for each list the tool's rank, where that stands on a log scale, its share."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from router.answer.results import RoutedTool, RoutedTools
from router.contract import DOCUMENT_SIGNALS, Signal

WIDTH, _MARGIN = 120, 5


@dataclass(frozen=True, slots=True)
class Strip:
    """One list's row of a tool's picture. `at` is the mark's place in a strip of WIDTH, None where no list has it."""

    signal: str
    rank: int | None
    at: float | None
    share: float | None
    assumed: bool = False


def signals_of(routed: RoutedTools, offered: Sequence[Signal]) -> tuple[Signal, ...]:
    """The lists to draw: those that the snapshot has; past requests only where they said something."""
    said = {signal for tool in routed for signal in tool.ranks}
    return tuple(s for s in Signal if s in said or (s in offered and s in DOCUMENT_SIGNALS))


def strips(tool: RoutedTool, signals: Sequence[Signal], depth: int) -> list[Strip]:
    """A row a list, and one of the step that the tool serves."""
    rows = []
    for signal in signals:
        rank, part = tool.ranks.get(signal), tool.contributions.get(signal)
        at = None if rank is None else place(rank, depth)
        rows.append(Strip(signal.value, rank, at, _share(part, tool), assumed=rank is None and bool(part)))
    if tool.step:
        rows.append(Strip("step", None, None, _share(tool.gain, tool)))
    return rows


def place(rank: int, depth: int) -> float:
    """Where a rank stands in the strip, 1 on the left: by its logarithm, for the first ranks matter most."""
    along = math.log(max(rank, 1)) / math.log(max(depth, 2))
    return round(_MARGIN + (WIDTH - 2 * _MARGIN) * min(along, 1.0), 1)


def ticks(depth: int) -> list[tuple[int, float]]:
    """1, 10, 100, … as far as lists go, each with its place."""
    return [(10**power, place(10**power, depth)) for power in range(int(math.log10(max(depth, 1))) + 1)]


def _share(part: float | None, tool: RoutedTool) -> float | None:
    return part / tool.score if part is not None and tool.score > 0 else None
