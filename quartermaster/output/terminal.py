"""Output on a terminal: answers on standard output, progress and notes on standard error."""

import json
from contextlib import AbstractContextManager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.rule import Rule
from rich.text import Text


class _Output(Console):
    """Standard output. Rich itself would end with 1, the code of "held", where nobody reads it."""

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError, which has an exit code of its own."""
        raise BrokenPipeError


class _Errors(Console):
    """Standard error. A build that nobody listens to goes on."""

    def on_broken_pipe(self) -> None:
        """Print nothing any more."""
        self.quiet = True


out = _Output(highlight=False)
err = _Errors(stderr=True, highlight=False)

_STAGE_TITLES = {
    "engine": "Starting Prefect",
    "read": "Reading sources",
    "normalize": "Normalising records",
    "enrich": "Enriching",
    "estimate": "Estimating",
    "assess": "Assessing phrases",
    "prerequisites": "Finding which tools must run first",
    "tune": "Learning from phrases",
    "prepare": "Looking for near tools",
    "train": "Training the encoder",
    "weigh": "Measuring the trained encoder",
    "learn": "Learning from past requests",
    "calibrate": "Calibrating on everyday requests",
    "contrast": "Asking about similar tools",
    "project": "Preparing documents",
    "embed": "Embedding",
    "export": "Exporting the encoder, once: 10 s, a large one a minute",
    "trace": "Exporting the encoder with torch, once: a minute or two",
    "resolve": "Finding the encoder",
    "download": "Downloading the encoder, in MB",
    "index": "Indexing",
    "write": "Writing the snapshot",
    "verify": "Verifying the snapshot",
    "inspect": "Writing catalog.duckdb",
    "upload": "Uploading, in MB",
    "fetch": "Fetching, in MB",
    "publish": "Publishing",
    "evaluate": "Evaluating",
    "ablate": "Leaving out signals",
    "time": "Timing the encoders",
}

# Control characters, which a terminal executes, and marks that turn the direction of what follows.
_CONTROL_CHARACTERS = dict.fromkeys(
    [*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\N{REPLACEMENT CHARACTER}"
)
_CONTROL_CHARACTERS |= {ord("\t"): " "}


def plain_text(text: str, style: str = "") -> Text:
    """Return text of a catalog or a server as one line of data: neither markup nor a command to the terminal."""
    return Text(" ".join(text.splitlines()).translate(_CONTROL_CHARACTERS), style=style)


def plain_lines(text: str, style: str = "") -> Text:
    """Return a text as `plain_text` does, with its lines: a description, or a message of ours."""
    return Text("\n").join(plain_text(line, style) for line in text.splitlines())


def print_err(text: str, style: str = "") -> None:
    """Print text on standard error, as data: what a command did, or warns of."""
    err.print(plain_text(text, style), soft_wrap=True)


def print_out(text: str | Text, style: str = "") -> None:
    """Print text on standard output, a string as data: what was asked for."""
    out.print(plain_text(text, style) if isinstance(text, str) else text, soft_wrap=True)


def print_heading(title: str) -> None:
    """Print the heading of a section: bold, over a dim rule."""
    out.print()
    out.print(Rule(plain_text(title, "bold"), align="left", style="dim"))


def print_json(value: object) -> None:
    """Print a value for programs, on one line."""
    print(json_text(value))


def json_text(value: object) -> str:
    """Return a value as JSON on one line, in which a character that is not printable is escaped."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    if text.isprintable():
        return text
    return "".join(mark if mark.isprintable() else json.dumps(mark)[1:-1] for mark in text)


class ProgressBars(AbstractContextManager["ProgressBars"]):
    """Progress as bars on a terminal, a line for each stage; only notes if the output is piped."""

    def __init__(self) -> None:
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description:<24}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=err,
            transient=True,
            disable=not err.is_terminal,
        )

    def __enter__(self) -> "ProgressBars":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Remove the bars from the terminal, before other output."""
        self._bars.stop()

    def start(self, stage: str, total: int | None = None) -> None:
        """Finish the previous stage and begin the next, of `total` units if known."""
        for task in self._bars.task_ids:
            self._bars.remove_task(task)
        self._bars.add_task(_STAGE_TITLES.get(stage, stage), total=total)

    def advance(self, count: int = 1) -> None:
        """Move the bar of the stage by `count` units."""
        self._bars.advance(self._bars.task_ids[-1], count)

    def reach(self, done: int, total: int) -> None:
        """Move the bar of the stage to `done` of `total` units. May be called from any thread."""
        self._bars.update(self._bars.task_ids[-1], completed=done, total=total)

    def note(self, message: str) -> None:
        """Print a line above the bars."""
        print_err(message, "dim")
