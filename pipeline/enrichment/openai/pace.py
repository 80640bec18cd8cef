"""The rate that a server was seen to let pass, learned from its refusals (429). Rates are requests per second."""

from bisect import bisect_left
from collections import deque

# See docs/decisions/0064-pace-learned-from-refusals.md.
_WINDOW_S = 60.0  # limits are per minute: what passed before says nothing about them
_CUT_SHARE = 0.95  # of the measured rate, right after a refusal
_KEPT_SHARE = 0.97  # of the measured rate, from _RETURN_S later
_RETURN_S = 20.0
_GROWTH_S = 40.0  # in which the rate then grows by the highest rate so far: slowly at first, as in TCP CUBIC
_DEEPEST_CUT = 0.8  # by a cycle that is too short to measure much
_SHORTEST_CYCLE_S = 4.0
_SHORT_PAUSE_S = 1.5
_RECENT_S = 10.0
_STILL_GROWING = 1.07  # the rate was higher at the end of that time than in its mean
_FLOOR = 1 / 60
_SHORTEST_PAUSE_S = 0.5  # whatever the server asks for: its window is to have room for more than one request
_DEFAULT_PAUSE_S = 0.75  # without its word, or where that was too short
_BACKOFF = 3.0
_LONGEST_BACKOFF_S = 20.0
_SLACK_S = 0.25  # two requests take unequal times to arrive
_LONGEST_PAUSE_S = 120.0  # whatever the server asks for
_SHORTEST_PROBE_S = 0.25
_LONGEST_PROBE_S = 5.0
_IDLE_S = 5.0  # a rate that nobody uses for so long does not grow


class Pace:
    """Measures a server's rate by cycles, and decides when to pause.

    A cycle has two parts: requests pass until one is refused; then all requests pause until one passes again. What
    passed in a cycle, divided by the cycle's duration, is the server's rate, whatever kind of window it counts in.
    Each cycle ends in one cut, to a little less than that. The rate then grows, slowly at first.

    `paused_until` is the moment before which nothing may be sent. `refusals_in_a_row` counts the pauses since a request
    passed.
    """

    def __init__(self, now: float) -> None:
        self.paused_until = 0.0
        self.refusals_in_a_row = 0
        self._measured: float | None = None
        self._grows_from = now
        self._highest = 0.0
        self._cycle_from = now
        self._passed: deque[float] = deque()  # moments at which requests were sent, less those that were refused
        self._refused_at = float("-inf")  # the refusal that began the latest pause
        self._passes_at = float("inf")  # the moment from which the server lets pass again, by its own word
        self._blocked_at = now  # the refusal that ended the passing of requests in this cycle
        self._rate_at_refusal: float | None = None
        self._probe_s = _SHORTEST_PROBE_S
        self._probe_at: float | None = None

    def rate(self, now: float) -> float | None:
        """Return the rate that may be used now; None before the first cut."""
        if self._measured is None:
            return None
        age_s = max(0.0, now - self._grows_from)
        returning = (_KEPT_SHARE - _CUT_SHARE) * max(0.0, 1 - age_s / _RETURN_S) ** 3
        growing = self._highest * (max(0.0, age_s - _RETURN_S) / _GROWTH_S) ** 3
        return max(_FLOOR, self._measured * (_KEPT_SHARE - returning) + growing)

    def forget(self) -> None:
        """Forget the measured rate: the server's own word on its limit has changed."""
        self._measured = None

    def sent(self, now: float) -> None:
        """Count a request that is sent now. The first one after a pause is a probe: others wait for its fate."""
        if not self._passed and not self.refusals_in_a_row:
            self._cycle_from = self._grows_from = now
        idle_s = now - self._passed[-1] if self._passed and not self.refusals_in_a_row else 0.0
        if idle_s > _IDLE_S + 1 / (self.rate(now) or 1.0):
            self._grows_from += idle_s
        if self.refusals_in_a_row and self._probe_at is None:
            self._probe_at = now
            self.paused_until = max(self.paused_until, now + self._probe_s)
        elif self._probe_at is not None:
            self._end_cycle(self._probe_at)
        self._passed.append(now)
        while self._passed[0] < now - 4 * _WINDOW_S:
            self._passed.popleft()

    def refused(self, now: float, sent_at: float, retry_after_s: float | None, rate: float | None) -> None:
        """Pause after a 429 to a request that was sent at `sent_at`. `rate` is the rate that was in use.

        Requests in flight together cause one pause. Where the server's wait was too short, each further one doubles.
        """
        place = bisect_left(self._passed, sent_at)
        if place < len(self._passed) and self._passed[place] == sent_at:
            del self._passed[place]
        if sent_at >= self._refused_at:
            if not self.refusals_in_a_row:
                self._rate_at_refusal, self._blocked_at = rate, now
            self.refusals_in_a_row += 1
            self._refused_at, self._probe_at = now, None
            self._probe_s = min(max(4 * (now - sent_at), _SHORTEST_PROBE_S), _LONGEST_PROBE_S)
            retry_after_s = self._pause_s(now, retry_after_s)
        if retry_after_s is not None:
            self.paused_until = max(self.paused_until, now + min(retry_after_s, _LONGEST_PAUSE_S))

    def _pause_s(self, now: float, retry_after_s: float | None) -> float:
        """Return how long to pause after the latest refusal, and note when the server says that requests pass again."""
        if retry_after_s is not None and self.refusals_in_a_row == 1:
            self._passes_at = now + retry_after_s
            return max(retry_after_s, _SHORTEST_PAUSE_S)
        self._passes_at = float("inf")
        pause_s = min(_DEFAULT_PAUSE_S * _BACKOFF ** min(self.refusals_in_a_row - 1, 10), _LONGEST_BACKOFF_S)
        # In a window of a minute, what was sent first makes room first.
        minute_s = self._cycle_from + _WINDOW_S + _SLACK_S - now
        pause_s = minute_s if 0 < minute_s < 2 * pause_s else pause_s
        return max(pause_s, retry_after_s or 0.0)

    def _end_cycle(self, probe_at: float) -> None:
        """Cut the rate to what passed in the cycle that ended with a probe."""
        now = min(probe_at, self._passes_at)
        since = max(self._cycle_from, self._blocked_at - _WINDOW_S)
        duration_s, sending_s = (max(moment - since, _SHORTEST_PROBE_S) for moment in (now, self._blocked_at))
        passed = self._passed_from(since, now)
        if not passed and self._rate_at_refusal is None:
            # Refused from the first request on, as where others have used the limit up: nothing was measured.
            self._cycle_from = self._grows_from = probe_at
            self.refusals_in_a_row, self._probe_at = 0, None
            return
        used = passed / sending_s if self._rate_at_refusal is None else self._rate_at_refusal
        mean = min(passed / duration_s, used)
        grows_from = probe_at
        if duration_s < _SHORTEST_CYCLE_S or not passed:
            measured = max(mean, _DEEPEST_CUT * used)
            grows_from -= _RETURN_S  # at once: little is known
        elif now - self._blocked_at <= _SHORT_PAUSE_S:
            # The server counts in seconds, or the rate was hardly too high: what passed just before was its rate.
            recent_s = min(_RECENT_S, sending_s)
            recent = self._passed_from(self._blocked_at - recent_s, self._blocked_at) / recent_s
            measured = min(_STILL_GROWING * recent, used)
        else:
            measured = mean
        self._highest = max(self._highest, self._rate_at_refusal or measured)
        self._measured, self._cycle_from, self._grows_from = measured, probe_at, grows_from
        self.refusals_in_a_row, self._probe_at = 0, None

    def _passed_from(self, since: float, until: float) -> int:
        """Return how many requests passed from one moment on, and before another."""
        return bisect_left(self._passed, until) - bisect_left(self._passed, since)
