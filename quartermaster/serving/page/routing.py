"""The form of the first page, and the chart of an answer's ranks."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quartermaster.serving import ServedOptions
from router.answer.options import RouteOptions
from router.answer.results import RoutedTool, RoutedTools
from router.contract import DOCUMENT_SIGNALS, Signal
from router.typed import converted

_LISTS = ("allow", "block", "providers", "categories")
BLANK = dict.fromkeys(("request", "recipe", *_LISTS, "kind", "token_budget", "read_only"), "") | {
    "k": "10",
    "detail": "full",
}
WIDTH, _MARGIN = 120, 5  # of the chart, in SVG units


def form_of(query: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of the form as a query string has them, valid or not, so that the page can show them again.

    Unknown and blank fields are ignored.
    """
    return BLANK | {name: text.strip() for name, text in query.items() if name in BLANK and text.strip()}


def is_filtered(form: Mapping[str, str]) -> bool:
    """Return whether a field is filled in that can leave tools out or shorten them."""
    return any(form[name] != blank for name, blank in BLANK.items() if name not in ("request", "k", "recipe"))


def options_of(form: Mapping[str, str]) -> RouteOptions:
    """Return a form's options for `Router.route`. Raises SettingsInvalid, naming the wrong field."""
    selection: dict[str, Any] = {
        name: names for name in _LISTS if (names := [part.strip() for part in form[name].split(",") if part.strip()])
    }
    if form["kind"]:
        selection["kinds"] = [form["kind"]]
    if form["read_only"]:
        selection["annotations"] = {"readOnlyHint": True}
    values: dict[str, Any] = {name: form[name] for name in ("k", "recipe", "token_budget", "detail")}
    # An empty form uses the server's own selection.
    values = {name: value for name, value in {**values, "selection": selection}.items() if value}
    return converted({**values, "explain": True, "feedback": False}, ServedOptions, strict=False).arguments()


@dataclass(frozen=True, slots=True)
class RankRow:
    """One list's row of a chart, or, where not `is_list`, that of what else gave a part of the score.

    `x` is the position of the rank on an axis of WIDTH, None if the list lacks the tool. `share` is the
    list's share of the tool's score. `assumed` marks an imputed share: of a tool without an expansion or in another
    language.
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

    def share(contribution: float | None) -> float | None:
        return contribution / tool.score if contribution is not None and tool.score > 0 else None

    rows = []
    for signal in signals:
        rank, contribution = tool.ranks.get(signal), tool.contributions.get(signal)
        x = None if rank is None else axis_position(rank, depth)
        rows.append(RankRow(signal.value, rank, x, share(contribution), rank is None and bool(contribution)))
    if tool.step:
        rows.append(RankRow("step", None, None, share(tool.gain - tool.raised), is_list=False))
    if tool.raised:
        rows.append(RankRow("needed", None, None, share(tool.raised), is_list=False))
    return rows


def axis_position(rank: int, depth: int) -> float:
    """Return the position of a rank on the axis, 1 on the left; logarithmic, because the first ranks matter most."""
    fraction = math.log(max(rank, 1)) / math.log(max(depth, 2))
    return round(_MARGIN + (WIDTH - 2 * _MARGIN) * min(fraction, 1.0), 1)


def axis_ticks(depth: int) -> list[tuple[int, float]]:
    """Return the ranks 1, 10, 100, … up to the depth of the lists, each with its position."""
    return [(10**power, axis_position(10**power, depth)) for power in range(int(math.log10(max(depth, 1))) + 1)]
