"""Answers to requests on a terminal: the tools, the reasons, and whether any tool fits."""

from rich.table import Table
from rich.text import Text

from quartermaster.evaluation.verdict import advice, score_text, verdict, why_assumed
from quartermaster.output.terminal import out, plain_text, tell
from router import Diagnosis, RoutedTool, RoutedTools, Router, Signal
from router.contract import DOCUMENT_SIGNALS
from router.record import Kind

_MAX_DROPPED = 5
_MAX_DUPLICATES = 3  # duplicates that are named; the rest are counted


def show_verdict(routed: RoutedTools) -> None:
    """Print a warning if no tool fits, the steps of a request that has several, and what it implies."""
    if routed.none_fits:
        out.print(f"{routed.doubt} What came closest:")
    for number, step in enumerate(routed.steps, 1):
        tell(f"step {number}: {step}", "dim")
    for need, text in routed.implicit_needs.items():
        tell(f"implied, {need}: {text}", "dim")


def show_notes(routed: RoutedTools) -> None:
    """Print the tools of every answer, those that were left out and why, the notes and the tokens."""
    if routed.always:
        tell(f"in every answer: {', '.join(tool.tool_id for tool in routed.always)}")
    for dropped in routed.dropped[:_MAX_DROPPED]:
        tell(f"left out ({dropped.by}): {dropped.tool_id}: {dropped.reason}", "dim")
    if len(routed.dropped) > _MAX_DROPPED:
        out.print(f"and {len(routed.dropped) - _MAX_DROPPED} more were left out", style="dim")
    for note in routed.notes:
        tell(note, "dim")
    if routed.tokens is not None:
        out.print(f"{routed.tokens:,} tokens", style="dim")


def show_explanation(routed: RoutedTools) -> None:
    """Print an answer with its reasons, and what calibrates and ranks it."""
    show_verdict(routed)
    out.print(explanation_table(routed))
    show_notes(routed)
    out.print("for each list: the tool's rank in it, and the share of the score that it contributes", style="dim")
    generic = "" if routed.calibrated else " (not calibrated for this catalog)"
    fits = "" if routed.fits is None else f"some tool fits: {routed.fits:.2f}{generic}, "
    out.print(f"{fits}recipe {routed.recipe}, snapshot {routed.snapshot}", style="dim")


def show_diagnosis(router: Router, diagnosis: Diagnosis) -> None:
    """Print why a request finds a tool or does not, its rank in every list, and what each contributes to its score."""
    tool, rank, depth = diagnosis.tool, diagnosis.rank, diagnosis.depth
    tell(f"{verdict(diagnosis)} {advice(diagnosis)}".strip())
    place = f"rank {rank} of {len(router)}" if rank else f"not in the first {depth} of any list"
    tell(f"{tool.tool_id}: {place}")
    for signal in Signal:
        if signal not in DOCUMENT_SIGNALS and signal not in router.manifest.signals:
            continue
        list_rank, contribution = tool.ranks.get(signal), tool.contributions.get(signal)
        if list_rank is None:
            assumed = f"  contributes {score_text(contribution)}, {why_assumed(signal)}" if contribution else ""
            out.print(f"  {signal:<12} not in the list{assumed}", soft_wrap=True)
        elif list_rank > depth:
            out.print(
                f"  {signal:<12} rank {list_rank:>6}  contributes nothing: the recipe reads the first {depth} only"
            )
        else:
            out.print(f"  {signal:<12} rank {list_rank:>6}  contributes {score_text(contribution or 0)}")
    if tool.step:
        step = f"  step         contributes {score_text(tool.gain - tool.raised)}: {tool.step}"
        tell(step)
    if tool.raised:
        needed = f"  needed       contributes {score_text(tool.raised)}: {'; '.join(_needed_by(tool))}"
        tell(needed)
    if tool.phrase:
        tell(f"  nearest phrase: {tool.phrase}")


def results_table(routed: RoutedTools) -> Table:
    """Return an answer without reasons: rank, tool, the beginning of its description."""
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    table.add_column("#", justify="right")
    table.add_column("tool", style="cyan", overflow="fold")
    table.add_column("description", ratio=1, no_wrap=True, overflow="ellipsis")
    for rank, tool in enumerate(routed, 1):
        table.add_row(str(rank), _name(tool), plain_text(" ".join(tool.record.description.split())))
    return table


def explanation_table(routed: RoutedTools) -> Table:
    """Return an answer with its reasons: for each signal the rank and the share of the fused score.

    A request of several steps has a column for the step that the tool serves best, and an answer with tools that were
    brought because others need them one for that.
    """
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("#", justify="right")
    table.add_column("tool, nearest phrase", overflow="fold", ratio=1)
    table.add_column("score", justify="right")
    # Past requests rank no tool for most requests, so their column is optional.
    signals = [s for s in Signal if s in DOCUMENT_SIGNALS or any(s in tool.ranks for tool in routed)]
    has_brought = any(tool.raised for tool in routed)
    for column in (*signals, *(["step"] if routed.steps else []), *(["needed"] if has_brought else [])):
        table.add_column(column, justify="right")
    for rank, tool in enumerate(routed, 1):
        cells = [_rank_and_share(tool, signal) for signal in signals]
        if routed.steps:
            number = routed.steps.index(tool.step) + 1 if tool.step in routed.steps else None
            cells.append(f"{number} {_share(tool.gain - tool.raised, tool)}" if number else "[dim]–[/]")
        if has_brought:
            cells.append(_share(tool.raised, tool) if tool.raised else "[dim]–[/]")
        name = _name(tool) + plain_text(f"\n  {tool.phrase}" if tool.phrase else "", "green")
        table.add_row(str(rank), name, score_text(tool.score), *cells)
    return table


def _name(tool: RoutedTool) -> Text:
    """Return a tool's id, its kind where it is no tool, and below the tools that need it first, and its duplicates."""
    kind = "" if tool.record.kind is Kind.TOOL else f" ({tool.record.kind})"
    first = "".join(f"\n  first, {one}" for one in _needed_by(tool))
    name = plain_text(tool.tool_id, "cyan") + plain_text(kind + first, "dim")
    if not tool.also_from:
        return name
    named, rest = tool.also_from[:_MAX_DUPLICATES], len(tool.also_from) - _MAX_DUPLICATES
    return name + plain_text(f"\n  also {', '.join(named)}" + (f" and {rest} more" if rest > 0 else ""), "dim")


def _needed_by(tool: RoutedTool) -> list[str]:
    """Return for each tool that needs another its id and the parameter: "for person_id of films/get_credits"."""
    return [f"for {needing.parameter} of {needing.tool_id}" for needing in tool.needed_by]


def _rank_and_share(tool: RoutedTool, signal: Signal) -> str:
    """Return the rank in a list and the share of the score; without a rank the share is assumed, marked by ~."""
    rank, contribution = tool.ranks.get(signal), tool.contributions.get(signal, 0.0)
    if rank is None:
        return f"~ {_share(contribution, tool)}" if contribution else "[dim]–[/]"
    return f"{rank} {_share(contribution, tool)}"


def _share(contribution: float, tool: RoutedTool) -> str:
    return f"[dim]{contribution / tool.score:4.0%}[/]" if tool.score else ""
