"""Run one input and say what was wrong, if anything was."""

import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from simulations.fuzz.target import NoInput, Run, Target

_ROOT = Path(__file__).parents[3]
OURS = tuple(f"{_ROOT / name}/" for name in ("router", "pipeline", "flows", "quartermaster"))
WAITS = 12  # wall-clock seconds for each CPU second: other processes may hold the cores


class TimeUp(BaseException):
    """An input took longer than its target allows. Not an Exception: no handler of the program may take it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was wrong with an input: `kind` is "error", "property", "hang" or "crash".

    `signature` names the error and the function of ours that it came from: equal for inputs with one cause.
    """

    kind: str
    signature: str
    message: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one input: what was wrong, whether the target accepted it, and the CPU seconds it took."""

    finding: Finding | None
    accepted: bool
    seconds: float


def judge(target: Target, run: Run, data: bytes) -> Outcome:
    """Run an input. Call it from the main thread, whose signals bound it."""
    begun = time.process_time()
    finding, accepted = None, False
    try:
        with _bounded(target.cpu_s):
            run(data)
        accepted = True
    except NoInput:
        pass
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is what is looked for
        finding = None if isinstance(error, target.errors) else describe(error)
    return Outcome(finding, accepted, time.process_time() - begun)


def describe(error: BaseException) -> Finding:
    """Return the finding of an error that no input may raise."""
    kinds = {TimeUp: "hang", AssertionError: "property"}
    name = "Hang" if isinstance(error, TimeUp) else type(error).__name__
    kind = kinds.get(type(error), "error")
    return Finding(kind, f"{name} at {_place(error)}", f"{name}: {str(error)[:300]}")


def _place(error: BaseException) -> str:
    """Return the innermost function of ours on the way to an error; the innermost of all where none is ours."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    ours = [code for code, _ in frames if code.co_filename.startswith(OURS)] or [code for code, _ in frames]
    if not ours:
        return "unknown"
    path = Path(ours[-1].co_filename)
    shown = path.relative_to(_ROOT).as_posix() if path.is_relative_to(_ROOT) else path.name
    return f"{shown}:{ours[-1].co_name}"


@contextmanager
def _bounded(cpu_s: float) -> Iterator[None]:
    """Raise TimeUp in the block after some CPU seconds, or after twelve times as many of the clock."""

    def end(number: int, frame: FrameType | None) -> None:
        raise TimeUp(f"more than {cpu_s:g} s of CPU" if number == signal.SIGPROF else f"{cpu_s * WAITS:g} s of waiting")

    previous = signal.signal(signal.SIGPROF, end), signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    signal.setitimer(signal.ITIMER_REAL, cpu_s * WAITS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGPROF, previous[0])
        signal.signal(signal.SIGALRM, previous[1])
