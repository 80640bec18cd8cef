"""A feedback log in numbers, on a terminal or as JSON."""

from pathlib import Path

from pipeline.feedback import FeedbackSummary, forget_request, join_answers, read_events, summarize
from quartermaster.output.terminal import out, print_json, rows_table, say, tell
from router.errors import SettingsInvalid


def forget_text(folder: Path, request: str) -> None:
    """Erase the text of a request from a log, and tell how many answers had it. Raises SettingsInvalid, RunAborted."""
    _require(folder)
    count = forget_request(folder, request)
    say(f"erased from {count:,} answers")
    if writing := read_events(folder).writing:
        note = f"{writing} files of running routers are left as they are: run this again once they are closed"
        say(note)


def show_feedback(folder: Path, *, as_json: bool) -> None:
    """Print the summary of a log. Raises SettingsInvalid where there is none, RunAborted for a damaged one."""
    _require(folder)
    events = read_events(folder)
    summary = summarize(events, join_answers(events))
    if as_json:
        print_json(summary.to_json())
        return
    tell(_sentence(summary))
    if summary.ranks:
        rows = [
            (str(one.rank), f"{one.offered:,}", f"{one.called:,}", _share(one.called, one.offered))
            for one in summary.ranks
        ]
        out.print(rows_table(("rank", "offered", "called", "share"), rows))
    if summary.never_called:
        never = [(tool, f"{count:,}") for tool, count in summary.never_called.items()]
        out.print(rows_table(("never called", "offered"), never))


def _sentence(summary: FeedbackSummary) -> str:
    """Return the counts in a sentence, without those that are zero."""
    counts = {
        f"{summary.texts:,} with their text": summary.texts,
        **{f"{count:,} {outcome}": count for outcome, count in summary.outcomes.items()},
    }
    rest = {
        f"{summary.untied:,} reports of no answer": summary.untied,
        f"{summary.removed:,} events removed": summary.removed,
        f"{summary.unreadable:,} lines unreadable": summary.unreadable,
    }
    said = [text for text, count in {**counts, **rest}.items() if count]
    return f"{summary.answers:,} answers{': ' if said else ''}{', '.join(said)}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else ""


def _require(folder: Path) -> None:
    if not folder.is_dir():
        raise SettingsInvalid(f"there is no feedback log in {folder}: name the folder that --feedback was given")
