"""A feedback log in numbers, on a terminal or as JSON."""

from pathlib import Path

from pipeline.feedback import FeedbackSummary, forget_request, join_answers, read_events, summarize
from quartermaster.output.formatting import table
from quartermaster.output.terminal import out, print_err, print_json, print_out
from router.errors import SettingsInvalid


def forget_text(folder: Path, request: str) -> None:
    """Erase the text of a request from a log, and tell how many answers had it. Raises SettingsInvalid, RunAborted."""
    _require(folder)
    print_err(f"erased from {forget_request(folder, request):,} answers")
    if writing := read_events(folder).writing:
        print_err(f"{writing} files of running routers are left as they are: run this again once they are closed")


def show_feedback(folder: Path, *, as_json: bool) -> None:
    """Print the summary of a log. Raises SettingsInvalid where there is none, RunAborted for a damaged one."""
    _require(folder)
    events = read_events(folder)
    summary = summarize(events, join_answers(events))
    if as_json:
        print_json(summary.to_json())
        return
    print_out(_sentence(summary))
    if ranks := summary.ranks:
        shares = (f"{one.called / one.offered:.0%}" if one.offered else "" for one in ranks)
        rows = [(str(r.rank), f"{r.offered:,}", f"{r.called:,}", share) for r, share in zip(ranks, shares, strict=True)]
        out.print(table(("rank", "offered", "called", "share"), rows))
    if summary.never_called:
        never = [(tool, f"{count:,}") for tool, count in summary.never_called.items()]
        out.print(table(("never called", "offered"), never))


def _sentence(summary: FeedbackSummary) -> str:
    """Return the counts in a sentence, without those that are zero."""
    counts = {
        "with their text": summary.texts,
        **summary.outcomes,
        "reports of no answer": summary.untied,
        "events removed": summary.removed,
        "lines unreadable": summary.unreadable,
    }
    said = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    return f"{summary.answers:,} answers{': ' if said else ''}{said}"


def _require(folder: Path) -> None:
    if not folder.is_dir():
        raise SettingsInvalid(f"there is no feedback log in {folder}: name the folder that --feedback was given")
