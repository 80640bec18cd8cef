"""Answers to requests: tools, why these, and whether any fits."""

from rich.table import Table
from rich.text import Text

from flows.output.screen import out, plain
from router import RoutedTool, RoutedTools, Signal
from router.contract import DOCUMENT_SIGNALS

_LEFT_OUT = 5
_NAMED = 3  # twins that are named; the rest are counted


def show_verdict(routed: RoutedTools) -> None:
    """Whether any tool fits, and the steps of a request that has several."""
    if routed.none_fits:
        out.print(f"{routed.doubt} What came closest:")
    for number, step in enumerate(routed.steps, 1):
        out.print(plain(f"step {number}: {step}", "dim"), soft_wrap=True)


def show_left_out(routed: RoutedTools) -> None:
    """The tools of every answer, what was left out and why, what was asked for and not done."""
    if routed.always:
        out.print(plain(f"in every answer: {', '.join(tool.tool_id for tool in routed.always)}"), soft_wrap=True)
    for gone in routed.dropped[:_LEFT_OUT]:
        out.print(plain(f"left out ({gone.by}): {gone.tool_id}: {gone.reason}", "dim"), soft_wrap=True)
    if len(routed.dropped) > _LEFT_OUT:
        out.print(f"and {len(routed.dropped) - _LEFT_OUT} more were left out", style="dim")
    for note in routed.notes:
        out.print(plain(note, "dim"), soft_wrap=True)
    if routed.tokens is not None:
        out.print(f"{routed.tokens:,} tokens", style="dim")


def routed_table(routed: RoutedTools) -> Table:
    """An answer without reasons: rank, tool, first sentence of its description."""
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    table.add_column("#", justify="right")
    table.add_column("tool", style="cyan", overflow="fold")
    table.add_column("description", ratio=1, no_wrap=True, overflow="ellipsis")
    for rank, tool in enumerate(routed, 1):
        table.add_row(str(rank), _named(tool), plain(" ".join(tool.record.description.split())))
    return table


def explained_table(routed: RoutedTools) -> Table:
    """An answer with its reasons: for each signal the rank and, after it, the share of the fused score; what the step
    gave that the tool serves best."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("#", justify="right")
    table.add_column("tool, nearest phrase", overflow="fold", ratio=1)
    table.add_column("score", justify="right")
    # Past requests say nothing of most requests, and there may be none.
    signals = [s for s in Signal if s in DOCUMENT_SIGNALS or any(s in tool.ranks for tool in routed)]
    for signal in (*signals, *(["step"] if routed.steps else [])):
        table.add_column(signal, justify="right")
    for rank, tool in enumerate(routed, 1):
        cells = [_reason(tool, signal) for signal in signals]
        if routed.steps:
            number = routed.steps.index(tool.step) + 1 if tool.step else None
            cells.append(f"{number} {_share(tool.gain, tool)}" if number else "[dim]–[/]")
        name = _named(tool) + plain(f"\n  {tool.phrase}" if tool.phrase else "", "green")
        table.add_row(str(rank), name, f"{tool.score:.3f}", *cells)
    return table


def _named(tool: RoutedTool) -> Text:
    """A tool's id, and the same tool of other providers."""
    name = plain(tool.tool_id, "cyan")
    if not tool.also_from:
        return name
    told, rest = tool.also_from[:_NAMED], len(tool.also_from) - _NAMED
    return name + plain(f"\n  also {', '.join(told)}" + (f" and {rest} more" if rest > 0 else ""), "dim")


def _reason(tool: RoutedTool, signal: Signal) -> str:
    """The rank in a list and the share of the score; a share without a rank is assumed, for want of an expansion."""
    rank, part = tool.ranks.get(signal), tool.contributions.get(signal, 0.0)
    if rank is None:
        return f"~ {_share(part, tool)}" if part else "[dim]–[/]"
    return f"{rank} {_share(part, tool)}"


def _share(part: float, tool: RoutedTool) -> str:
    return f"[dim]{part / tool.score:4.0%}[/]" if tool.score else ""
