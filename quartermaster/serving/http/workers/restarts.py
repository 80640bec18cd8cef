"""When a worker that died is replaced: at once, unless it never served, or one after another dies young."""

import time
from collections import Counter
from enum import StrEnum

_YOUNG_S = 10.0  # a worker that served for longer did not die of its start
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 30.0


class Cause(StrEnum):
    """Why a worker ends, or has ended."""

    CRASHED = "crashed"  # it was killed, or could not go on
    HUNG = "hung"  # it was silent, and was killed for it
    SIGNALLED = "signalled"  # somebody else told it to end
    RELOADED = "reloaded"  # another has taken its place
    SUPERSEDED = "superseded"  # it was to take another's place, and does not any more
    STOPPED = "stopped"  # the server ends


_COUNTED = (Cause.CRASHED, Cause.HUNG, Cause.SIGNALLED, Cause.RELOADED)


class Restarts:
    """Counts the workers that were replaced, and says when the next may start."""

    def __init__(self) -> None:
        self._by_cause = Counter(dict.fromkeys(_COUNTED, 0))
        self._young_deaths = 0
        self.next_at = float("-inf")
        """From when on a worker may start, in seconds of `time.monotonic`."""

    def ended(self, cause: Cause, lived_s: float) -> float:
        """Count a worker that served for so long, 0 for never, and return the seconds until the next may start."""
        if cause in _COUNTED:
            self._by_cause[cause] += 1
        if cause not in (Cause.CRASHED, Cause.HUNG):
            return 0.0
        self._young_deaths = self._young_deaths + 1 if lived_s < _YOUNG_S else 0
        served = lived_s > 0
        if self._young_deaths < 2 and served:
            return 0.0
        pause = min(_FIRST_PAUSE_S * 2.0 ** max(self._young_deaths - 2, 0), _LONGEST_PAUSE_S)
        self.next_at = time.monotonic() + pause
        return pause

    def counts(self) -> dict[str, int]:
        """Return how many workers were replaced, by cause."""
        return {cause.value: self._by_cause[cause] for cause in _COUNTED}
