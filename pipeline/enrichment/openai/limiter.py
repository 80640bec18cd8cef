"""Pacing under a server's limits: requests and tokens per minute, from the settings or the server's headers."""

import asyncio
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping

# See docs/decisions/0028-pacing-under-rate-limits.md.
_LIMIT_SHARE = 0.98  # of a limit that is used: a server's clock is not ours
_CATCH_UP_S = 0.1  # of allowance that may be caught up on after a stall
_CATCH_UP_AFTER_REFUSAL_S = 0.01
_FIRST_CUT = 0.015  # of the rate, for a burst of refusals; doubled for each further burst within _AGAIN_S
_AGAIN_S = 3.0
_LARGEST_CUT = 0.5
_RECOVERY = 1.02  # of the rate, for each minute without a refusal
# A measured limit is too low, since few requests were in flight: it grows until it is refused again.
_GROWTH = 1.05
_GROW_EVERY_S = 10.0
_MEASURED_S = 10.0
_LONGEST_PAUSE_S = 120.0
_DEFAULT_PAUSE_S = 1.0  # after a refusal without a retry-after
_TICK_S = 0.25  # how often a wait looks whether the request is still wanted
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_DURATIONS = re.compile(rf"(?:{_DURATION.pattern})+")
_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Limiter:
    """Spaces requests evenly, which satisfies sliding windows, fixed windows and token buckets alike.

    Each limit is a schedule (GCRA) that a request advances by its own share of a minute. Limits in the server's headers
    lower ours and never raise it. A refusal (429) stops all requests until the server's `retry-after`, and lowers the
    rate, which recovers only after a minute without another.
    """

    def __init__(
        self,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._limits = {"requests": requests_per_minute, "tokens": tokens_per_minute}
        self._next = {"requests": 0.0, "tokens": 0.0}
        self._clock = clock
        self._sleep = sleep
        self._factor = 1.0
        self._cut = _FIRST_CUT
        self._catch_up = _CATCH_UP_S
        self._measured = False
        self._paused_until = 0.0
        self._cut_at = float("-inf")
        self._changed_at = clock()
        self._sent: deque[float] = deque(maxlen=10_000)

    def requests_per_second(self, tokens: int) -> float | None:
        """Return how many requests of so many tokens may be sent per second now; None without a limit."""
        rates = [rate / cost for kind, cost in (("requests", 1), ("tokens", tokens)) if (rate := self._rate(kind))]
        return min(rates, default=None)

    async def admit(self, tokens: int, cancelled: Callable[[], bool] = lambda: False) -> float:
        """Wait until a request of so many tokens may be sent, or is cancelled; return that moment on the clock."""
        while True:
            now = self._clock()
            self._recover(now)
            earliest = max(self._paused_until, *self._next.values())
            if earliest <= now or cancelled():
                break
            await self._sleep(min(earliest - now, _TICK_S))
        for kind, cost in (("requests", 1), ("tokens", tokens)):
            rate = self._rate(kind)
            if rate is not None:
                self._next[kind] = max(self._next[kind], now - self._catch_up) + cost / rate
        self._sent.append(now)
        return now

    def settle(self, reserved: int, used: int) -> None:
        """Correct the schedule of a request: the server counted `used` tokens where `reserved` were admitted."""
        rate = self._rate("tokens")
        if rate is not None:
            self._next["tokens"] += (used - reserved) / rate

    def read_headers(self, headers: Mapping[str, str], tokens: int) -> None:
        """Take over limits and remaining allowance from OpenAI's headers; `tokens` is the estimate of one request."""
        for kind, need in (("requests", 1), ("tokens", tokens)):
            limit = _number(headers.get(f"x-ratelimit-limit-{kind}"))
            if limit:
                ours = self._limits[kind]
                measured = self._measured and kind == "requests"
                self._limits[kind] = limit if ours is None or measured else min(ours, limit)
                if measured:
                    self._measured, self._factor = False, min(1.0, self._factor)
            remaining = _number(headers.get(f"x-ratelimit-remaining-{kind}"))
            if remaining is not None and remaining < need:
                # The reset is when all of the limit is there again; what one request needs is there sooner.
                reset = duration(headers.get(f"x-ratelimit-reset-{kind}")) or 0.0
                self._pause(reset * min(1.0, (need - remaining) / max((limit or need) - remaining, 1.0)))

    def refused(self, sent_at: float, retry_after_s: float | None) -> None:
        """Cut the rate after a 429 to a request that was sent at `sent_at`, and pause all requests.

        Requests in flight together cause one cut.
        """
        now = self._clock()
        if sent_at >= self._cut_at:
            if all(limit is None for limit in self._limits.values()):
                # No limit is known: the rate of the last seconds was too much, and is the first measure of it.
                recent = sum(1 for moment in self._sent if moment > now - _MEASURED_S)
                window = min(_MEASURED_S, max(now - self._sent[0], 1.0)) if self._sent else _MEASURED_S
                self._limits["requests"] = max(recent, 1) / window * 60
                self._measured = True
            else:
                self._catch_up = _CATCH_UP_AFTER_REFUSAL_S
                self._cut = min(2 * self._cut, _LARGEST_CUT) if now - self._cut_at < _AGAIN_S else _FIRST_CUT
                self._factor *= 1 - self._cut
            self._cut_at = self._changed_at = now
        self._pause(_DEFAULT_PAUSE_S if retry_after_s is None else retry_after_s)

    def _pause(self, seconds: float) -> None:
        self._paused_until = max(self._paused_until, self._clock() + min(seconds, _LONGEST_PAUSE_S))

    def _recover(self, now: float) -> None:
        if self._measured and now - self._changed_at >= _GROW_EVERY_S:
            self._factor, self._changed_at = self._factor * _GROWTH, now
        elif self._factor < 1.0 and now - self._changed_at >= 60:
            self._factor, self._changed_at = min(1.0, self._factor * _RECOVERY), now

    def _rate(self, kind: str) -> float | None:
        limit = self._limits[kind]
        return None if limit is None else limit * _LIMIT_SHARE * self._factor / 60


def duration(text: str | None) -> float | None:
    """Return the seconds of "6m0s", "350ms", "12" or "1.5"; None for anything else."""
    if not text:
        return None
    plain = _number(text)
    if plain is not None:
        return plain
    parts = _DURATION.findall(text) if _DURATIONS.fullmatch(text) else []
    return sum(float(value) * _SECONDS[unit] for value, unit in parts) if parts else None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value < float("inf") else None
