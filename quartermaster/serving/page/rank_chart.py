"""The ranks of a tool as a chart: for each list its rank, the position of that on a log scale, and its share."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from router.answer.results import RoutedTool, RoutedTools
from router.contract import DOCUMENT_SIGNALS, Signal

WIDTH, _MARGIN = 120, 5  # of the chart, in SVG units


@dataclass(frozen=True, slots=True)
class RankRow:
    """One list's row of a chart, or, where not `is_list`, that of what else gave a part of the score.

    `x` is the position of the rank on an axis of WIDTH, None if the list lacks the tool. `share` is the
    list's share of the tool's score. `assumed` marks a share without a rank, of a tool without an expansion or in
    another language.
    """

    signal: str
    rank: int | None
    x: float | None
    share: float | None
    assumed: bool = False
    is_list: bool = True


def charted_signals(routed: RoutedTools, available: Sequence[Signal]) -> tuple[Signal, ...]:
    """Return the lists to draw: those that the snapshot has, but past requests only if they ranked a tool."""
    ranking = {signal for tool in routed for signal in tool.ranks}
    return tuple(s for s in Signal if s in ranking or (s in available and s in DOCUMENT_SIGNALS))


def rank_rows(tool: RoutedTool, signals: Sequence[Signal], depth: int) -> list[RankRow]:
    """Return a row for each list, one for the step that the tool serves, and one for the tools that need it."""
    rows = []
    for signal in signals:
        rank, contribution = tool.ranks.get(signal), tool.contributions.get(signal)
        x = None if rank is None else axis_position(rank, depth)
        assumed = rank is None and bool(contribution)
        rows.append(RankRow(signal.value, rank, x, _share(contribution, tool), assumed))
    if tool.step:
        rows.append(RankRow("step", None, None, _share(tool.gain - tool.raised, tool), is_list=False))
    if tool.raised:
        rows.append(RankRow("needed", None, None, _share(tool.raised, tool), is_list=False))
    return rows


def axis_position(rank: int, depth: int) -> float:
    """Return the position of a rank on the axis, 1 on the left; logarithmic, because the first ranks matter most."""
    fraction = math.log(max(rank, 1)) / math.log(max(depth, 2))
    return round(_MARGIN + (WIDTH - 2 * _MARGIN) * min(fraction, 1.0), 1)


def axis_ticks(depth: int) -> list[tuple[int, float]]:
    """Return the ranks 1, 10, 100, … up to the depth of the lists, each with its position."""
    return [(10**power, axis_position(10**power, depth)) for power in range(int(math.log10(max(depth, 1))) + 1)]


def _share(contribution: float | None, tool: RoutedTool) -> float | None:
    return contribution / tool.score if contribution is not None and tool.score > 0 else None
