"""Answers to requests on a terminal: the tools, the reasons, and whether any tool fits."""

import shlex
import textwrap
from collections.abc import Sequence

from rich.table import Column, Table
from rich.text import Text

from quartermaster.evaluation.verdict import advice, score_text, verdict, why_assumed
from quartermaster.output.formatting import Row, make_table
from quartermaster.output.terminal import out, plain_text, print_err, print_out
from router import Diagnosis, RoutedTool, RoutedTools, Router, Signal
from router.contract import DOCUMENT_SIGNALS
from router.record import Kind

_MAX_DROPPED = 5
_MAX_DUPLICATES = 3  # duplicates that are named; the rest are counted
_LEGEND = (
    "Under each tool: its nearest phrase, then its rank in each list that gave it a place, and the share of its score "
    "that the list gave; ~ is a share that was assumed."
)


def show_answer(routed: RoutedTools) -> None:
    """Print an answer without its reasons: the tools best first, what was left out, the notes."""
    show_verdict(routed)
    if len(routed):
        out.print(results_table(routed))
    elif not routed.none_fits:
        out.print(routed.nothing)
    _show_notes(routed)


def show_explanation(routed: RoutedTools) -> None:
    """Print an answer with its reasons, what they mean, and what calibrates and ranks it."""
    show_verdict(routed)
    for rank, tool in enumerate(routed, 1):
        _show_reasons(rank, tool, routed)
    _show_notes(routed)
    out.print(_LEGEND, style="dim")
    generic = "" if routed.calibrated else " (not calibrated)"
    fits = "" if routed.fits is None else f"some tool fits: {routed.fits:.2f}{generic}, "
    print_out(f"{fits}recipe {routed.recipe}, snapshot {routed.snapshot}", "dim")


def show_next(router: Router, question: str, command: Sequence[str]) -> None:
    """Say on standard error which catalog answered, and the command that answers the next question."""
    tools = f"{router.manifest.catalog}, {len(router):,} tools"
    print_err(f"{tools}. Next, {question}: {shlex.join(['quartermaster', *command])}", "dim")


def show_verdict(routed: RoutedTools) -> None:
    """Print a warning if no tool fits, the steps of a request that has several or its needs, and what it implies."""
    if routed.none_fits:
        out.print(f"{routed.doubt} What came closest:")
    for number, step in enumerate(routed.steps, 1):
        print_out(f"step {number}: {step}", "dim")
    for number, need in enumerate(routed.needs, 1):
        print_out(f"need {number}: {need}" + (" (nothing fits)" if need in routed.uncovered else ""), "dim")
    for need, text in routed.implicit_needs.items():
        print_out(f"implied, {need}: {text}", "dim")


def _show_notes(routed: RoutedTools) -> None:
    """Print the tools of every answer, those that were left out and why, the notes and the tokens."""
    if routed.always:
        print_out(f"in every answer: {', '.join(tool.tool_id for tool in routed.always)}")
    for dropped in routed.dropped[:_MAX_DROPPED]:
        print_out(f"left out ({dropped.by}): {dropped.tool_id}: {dropped.reason}", "dim")
    if len(routed.dropped) > _MAX_DROPPED:
        out.print(f"and {len(routed.dropped) - _MAX_DROPPED} more were left out", style="dim")
    for note in routed.notes:
        print_out(note, "dim")
    if routed.tokens is not None:
        out.print(f"{routed.tokens:,} tokens", style="dim")


def show_diagnosis(router: Router, diagnosis: Diagnosis) -> None:
    """Print why a request finds a tool or does not, its rank in every list, and what each contributes to its score."""
    tool, rank, depth = diagnosis.tool, diagnosis.rank, diagnosis.depth
    print_out(f"{verdict(diagnosis)} {advice(diagnosis)}".strip())
    print_out(
        f"{tool.tool_id}: " + (f"rank {rank} of {len(router)}" if rank else f"not in the first {depth} of any list")
    )
    for signal in Signal:
        if signal not in DOCUMENT_SIGNALS and signal not in router.manifest.signals:
            continue
        list_rank, contribution = tool.ranks.get(signal), tool.contributions.get(signal, 0)
        if list_rank is None:
            assumed = f"  contributes {score_text(contribution)}, {why_assumed(signal)}" if contribution else ""
            print_out(f"  {signal:<12} not in the list{assumed}")
            continue
        share = score_text(contribution) if list_rank <= depth else f"nothing: the recipe reads the first {depth} only"
        print_out(f"  {signal:<12} rank {list_rank:>6}  contributes {share}")
    if tool.step:
        part = "need" if tool.step in diagnosis.answer.needs else "step"
        print_out(f"  {part}         contributes {score_text(tool.gain - tool.raised)}: {tool.step}")
    if tool.raised:
        print_out(f"  needed       contributes {score_text(tool.raised)}: {'; '.join(_needed_by(tool))}")
    if tool.phrase:
        print_out(f"  nearest phrase{' (by a person)' * tool.by_person}: {tool.phrase}")
    for note in diagnosis.answer.notes:
        print_out(f"  {note}", "dim")


def results_table(routed: RoutedTools) -> Table:
    """Return an answer without reasons: rank, the need that the tool serves, tool, the beginning of its description."""
    need = [Column("need", justify="right")] if routed.needs else []
    columns = (
        Column("#", justify="right"),
        *need,
        Column("tool", overflow="fold"),
        Column("description", ratio=1, no_wrap=True, overflow="ellipsis"),
    )
    rows: list[Row] = []
    for rank, tool in enumerate(routed, 1):
        served = [_number(tool, routed.needs)] if need else []
        rows.append((str(rank), *served, _name(tool), " ".join(tool.record.description.split())))
    return make_table(columns, rows, expand=True)


def _show_reasons(rank: int, tool: RoutedTool, routed: RoutedTools) -> None:
    """Print a tool of an answer, its nearest phrase, and what gave it its place, the largest share first.

    The id has a line of its own, so that it can be copied whole on a terminal of any width.
    """
    indent = " " * (len(str(len(routed))) + 2)
    print_out(Text(f"{rank:>{len(indent) - 2}}  ") + _name(tool, indent))
    if tool.phrase:
        _print_indented(f"“{tool.phrase}”{' (by a person)' * tool.by_person}", indent, "green")
    parts = []
    for signal in Signal:
        share, place = tool.contributions.get(signal, 0.0), tool.ranks.get(signal)
        if share or place:
            parts.append((share, f"{signal} ~" if place is None else f"{signal} #{place}"))
    if tool.step:
        number = _number(tool, routed.needs or routed.steps)
        parts.append((tool.gain - tool.raised, f"{'need' if routed.needs else 'step'} {number}".strip()))
    parts += [(tool.raised, "needed")] if tool.raised else []
    parts.sort(key=lambda part: -part[0])
    shares = (f"{name} ({share / tool.score:.0%})" if tool.score else name for share, name in parts)
    _print_indented(", ".join(part.replace(" ", "\xa0") for part in shares), indent, "dim")


def _print_indented(text: str, indent: str, style: str) -> None:
    """Print a text in lines of the terminal's width, each indented; a no-break space keeps what it joins on a line."""
    for line in textwrap.wrap(plain_text(text).plain, max(out.width - len(indent), 20)):
        print_out(indent + line.replace("\xa0", " "), style)


def _name(tool: RoutedTool, indent: str = "  ") -> Text:
    """Return a tool's id, its kind where it is no tool, and below the tools that need it first, and its duplicates."""
    kind = "" if tool.record.kind is Kind.TOOL else f" ({tool.record.kind})"
    below = [f"{indent}first, {one}" for one in _needed_by(tool)]
    named, rest = tool.also_from[:_MAX_DUPLICATES], len(tool.also_from) - _MAX_DUPLICATES
    below += [f"{indent}also {', '.join(named)}" + (f" and {rest} more" if rest > 0 else "")] if named else []
    first = plain_text(tool.tool_id, "cyan") + plain_text(kind, "dim")
    return Text("\n").join([first, *(plain_text(line, "dim") for line in below)])


def _number(tool: RoutedTool, parts: Sequence[str]) -> str:
    """Return the number of the need or step that a tool serves; an empty text where it serves none."""
    return str(parts.index(tool.step) + 1) if tool.step in parts else ""


def _needed_by(tool: RoutedTool) -> list[str]:
    """Return for each tool that needs another its id and the parameter: "for person_id of films/get_credits"."""
    return [f"for {needing.parameter} of {needing.tool_id}" for needing in tool.needed_by]
