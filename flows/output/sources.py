"""What was read of each source, and what was not: the last table of a build."""

from collections.abc import Sequence

from flows.output.screen import err, out, plain, rows_table
from pipeline.sources.coverage import Coverage, by_source

COLUMNS = ("source", "records", "tools", "described", "parameters", "rejected", "not read")
_MOST_SOURCES = 12
_LONGEST = 600  # characters of a problem


def show_coverage(coverage: Sequence[Coverage]) -> None:
    """Print a row a source, those with problems first where there are many, then each problem in a sentence.

    Empty sources are told by the caller, all in one sentence.
    """
    if not coverage:
        return
    named = by_source(coverage)
    wrong = {source: one for source, one in named.items() if one.problems}
    shown = dict(list((named if len(named) <= _MOST_SOURCES else wrong).items())[:_MOST_SOURCES])
    rows = [_row(source, one) for source, one in shown.items()]
    if len(named) > 1:
        hidden = len(named) - len(shown) if shown else 0
        rows.append(_total(f"all {len(named):,} sources" + (f", {hidden:,} not shown" if hidden else ""), coverage))
    out.print()
    out.print(rows_table(COLUMNS, rows))
    problems = [(source, problem) for source, one in wrong.items() if not one.empty for problem in one.problems]
    for source, problem in problems[:_MOST_SOURCES]:
        style = "bold red" if named[source].lost_parameters or named[source].advice else "yellow"
        # On one line each: a source's words must not look like ours.
        err.print(plain(f"{source}: {' '.join(problem.split())[:_LONGEST]}", style), soft_wrap=True)
    if len(problems) > _MOST_SOURCES:
        err.print(f"and {len(problems) - _MOST_SOURCES:,} more (FROM unread_sources)", style="dim", soft_wrap=True)


def cells(one: Coverage) -> tuple[str, ...]:
    """The columns of a source, less its name."""
    parameters = f"{one.with_parameters:,}" + (f", {one.lost_parameters:,} lost" if one.lost_parameters else "")
    unread = ", ".join(key.key for key in one.unread[:4]) + (", …" if len(one.unread) > 4 else "")
    return (
        f"{one.records:,}",
        f"{one.tools:,}",
        f"{one.described:,}",
        parameters,
        f"{one.rejected:,}",
        unread or ("no tool" if one.empty else "–"),
    )


def _row(source: str, one: Coverage) -> tuple[str, ...]:
    return (source, *cells(one))


def _total(name: str, coverage: Sequence[Coverage]) -> tuple[str, ...]:
    def sums(field: str) -> str:
        return f"{sum(getattr(one, field) for one in coverage):,}"

    lost = sum(one.lost_parameters for one in coverage)
    parameters = sums("with_parameters") + (f", {lost:,} lost" if lost else "")
    return (name, sums("records"), sums("tools"), sums("described"), parameters, sums("rejected"), "")
