"""Which lines of ours an input reaches: inputs that reach new ones are worth keeping."""

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from simulations.fuzz.engine.oracle import OURS

_Trace = Callable[[FrameType, str, Any], Any]


class Lines:
    """Collects lines while functions run. A function whose lines are all known is traced no longer."""

    def __init__(self) -> None:
        self._unseen: dict[CodeType, set[int]] = {}
        self.count = 0

    def watch(self, call: Callable[[], object]) -> int:
        """Run a function in this thread and return how many lines it reached first."""
        before = self.count
        previous = sys.gettrace()
        sys.settrace(self._enter)
        try:
            call()
        finally:
            sys.settrace(previous)
        return self.count - before

    def _enter(self, frame: FrameType, event: str, argument: Any) -> _Trace | None:
        code = frame.f_code
        unseen = self._unseen.get(code)
        if unseen is None:
            ours = code.co_filename.startswith(OURS)
            unseen = self._unseen[code] = {line for *_, line in code.co_lines() if line} if ours else set()
        return self._line if unseen else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> _Trace | None:
        unseen = self._unseen[frame.f_code]
        if frame.f_lineno in unseen:
            unseen.discard(frame.f_lineno)
            self.count += 1
        return self._line if unseen else None
