"""What an error means for whoever started the program: its kind, one sentence, and the exit code.

Only a snapshot that is held back, or damaged, ends with the code that a command gives itself. Every error has a code
that says so, and an unforeseen one never has that of another.
"""

import errno
import re
from dataclasses import dataclass
from typing import Self

from pipeline.current_run import CurrentRun
from pipeline.errors import QuartermasterError
from router.store import StoreChanged, StoreUnavailable

_INTERRUPTED = 130  # 128 + SIGINT, as a shell has it
_UNFORESEEN = 70  # EX_SOFTWARE of sysexits.h
_STOPPED = 3
_DISK_FULL = frozenset((errno.ENOSPC, errno.EDQUOT))
_NO_SPACE = "No space left on device"  # DuckDB's and Tantivy's errors have no number
_LONGEST = 500
_RUN = "_quartermaster_run"


@dataclass(frozen=True, slots=True)
class Failure:
    """The failure that an error stands for.

    `kind` is the error's class in snake case, such as "run_aborted", or "disk_full", "interrupted", "terminated" (by a
    signal), "unforeseen". `exit_code` is that of the command line.
    """

    kind: str
    message: str
    exit_code: int

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """Return what an error stands for. A group of one error stands for that error."""
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        if isinstance(error, QuartermasterError):
            return cls(_snake_case(type(error).__name__), str(error), error.exit_code)
        if isinstance(error, KeyboardInterrupt):
            return cls("interrupted", "interrupted", _INTERRUPTED)
        if isinstance(error, SystemExit) and isinstance(error.code, int) and error.code > 128:
            return cls("terminated", f"ended by signal {error.code - 128}", error.code)
        if isinstance(error, StoreUnavailable | StoreChanged):
            return cls(_snake_case(type(error).__name__), str(error), _STOPPED)
        words = " ".join(str(error).split())[:_LONGEST]
        if (isinstance(error, OSError) and error.errno in _DISK_FULL) or _NO_SPACE in words:
            file = error.filename if isinstance(error, OSError) else None
            what = words if file is None else f"{file} could not be written"
            return cls("disk_full", f"the disk is full: {what}. Free some space and run it again", _STOPPED)
        return cls("unforeseen", f"{type(error).__name__}: {words}".strip()[:_LONGEST], _UNFORESEEN)


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def attach(run: CurrentRun, error: BaseException) -> None:
    """Let an error know the run that it ended: whoever catches it need not announce it again."""
    setattr(error, _RUN, run)


def attached(error: BaseException) -> CurrentRun | None:
    """Return the run that an error ended; None where none was announced.

    So does an error that arose while the run's end was told, as by a second Ctrl-C.
    """
    link: BaseException | None = error
    while link is not None and not hasattr(link, _RUN):
        link = link.__context__
    return getattr(link, _RUN, None)
