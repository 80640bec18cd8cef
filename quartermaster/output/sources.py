"""The sources of a build on a terminal: what was read of each, what was not, and which are missing."""

from collections.abc import Sequence

from pipeline.build_state import MissingTools
from pipeline.sources import Gap
from pipeline.sources.coverage import Coverage, by_source, empties
from pipeline.sources.last_reading import StaleSource
from quartermaster.output.formatting import make_table
from quartermaster.output.terminal import out, print_err

COLUMNS = ("source", "records", "tools", "described", "parameters", "rejected", "not read")
_COUNTS = ("records", "described", "with_parameters", "lost_parameters", "rejected")
_MAX_SOURCES = 12
_MAX_PROBLEM = 600  # characters
_MAX_FILES = 5


def show_coverage(coverage: Sequence[Coverage]) -> None:
    """Print a row for each source, of many only those with problems, then each problem in a sentence.

    Empty sources are left to `show_missing`, which names them in one sentence.
    """
    if not coverage:
        return
    sources = by_source(coverage)
    with_problems = {source: read for source, read in sources.items() if read.problems}
    shown = list((sources if len(sources) <= _MAX_SOURCES else with_problems).items())[:_MAX_SOURCES]
    rows = [(source, *coverage_cells(read)) for source, read in shown]
    if len(sources) > 1:
        hidden = len(sources) - len(shown) if shown else 0
        total = Coverage("", **{field: sum(getattr(read, field) for read in coverage) for field in _COUNTS})
        name = f"all {len(sources):,} sources" + (f", {hidden:,} not shown" if hidden else "")
        rows.append((name, *coverage_cells(total)[:-1], ""))
    out.print()
    out.print(make_table(COLUMNS, rows))
    problems = [
        (source, problem) for source, read in with_problems.items() if not read.empty for problem in read.problems
    ]
    for source, problem in problems[:_MAX_SOURCES]:
        style = "bold red" if sources[source].lost_parameters or sources[source].advice else "yellow"
        # On one line each, so that a source's words are not taken for ours.
        print_err(f"{source}: {' '.join(problem.split())[:_MAX_PROBLEM]}", style)
    if len(problems) > _MAX_SOURCES:
        print_err(f"and {len(problems) - _MAX_SOURCES:,} more (FROM unread_sources)", "dim")


def coverage_cells(coverage: Coverage) -> tuple[str, ...]:
    """Return the cells of a source under COLUMNS, without its name."""
    lost = f", {coverage.lost_parameters:,} lost" if coverage.lost_parameters else ""
    unread = ", ".join(key.key for key in coverage.unread[:4]) + (", …" if len(coverage.unread) > 4 else "")
    return (
        f"{coverage.records:,}",
        f"{coverage.tools:,}",
        f"{coverage.described:,}",
        f"{coverage.with_parameters:,}{lost}",
        f"{coverage.rejected:,}",
        unread or ("no tool" if coverage.empty else "–"),
    )


def show_stale(stale: Sequence[StaleSource]) -> None:
    """Print every source that could not be read and keeps its last known records, with the reason."""
    for source in stale:
        print_err(f"stale: {source} keeps its last known records: {source.reason[:_MAX_PROBLEM]}", "yellow")


def show_missing(missing: MissingTools) -> None:
    """Print every skipped source, with the serving tools that the new snapshot lacks, and some of the empty ones."""
    for gap in missing.skipped:
        print_err(f"skipped: {' '.join(gap.reason.split())[:_MAX_PROBLEM]}{_lost_tools(gap)}", "yellow")
    if sentence := empties(missing.gaps, missing.sources):
        print_err(sentence, "yellow")
    for gap in missing.empty:
        if gap.serving:
            print_err(f"empty: {gap.source}{_lost_tools(gap)}", "yellow")


def show_unread(names: Sequence[str]) -> None:
    """Print the files of a folder that are not read, if any."""
    if names:
        more = f" and {len(names) - _MAX_FILES:,} more" if len(names) > _MAX_FILES else ""
        print_err(f"not read: {', '.join(names[:_MAX_FILES])}{more}; a catalog.toml can name them", "yellow")


def _lost_tools(gap: Gap) -> str:
    if not gap.serving:
        return ""
    return f" ({gap.serving:,} {'tool' if gap.serving == 1 else 'tools'} of it serve until now, and are missing here)"
