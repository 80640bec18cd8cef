"""Pacing under a server's limits: requests and tokens a minute, as settings or the server's own headers say."""

import asyncio
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping

# Of the limit: a server's clock is not ours, and a second of what is sent evenly may arrive in less. On a simulated
# clock, 2,000 requests at 100 a second that take 1 to 11 ms to arrive reach .984 of a limit that is enforced by the
# minute or by a bucket, without a refusal, and .967 of one that is enforced by the sliding second, after one.
_SHARE = 0.98
# Seconds of allowance that may be caught up on after a stall. Most servers let that pass; those that count a sliding
# second refuse one burst of it, and from then on what is missed is missed.
_CATCH_UP_S = 0.1
_EVEN_S = 0.01
# Of the rate, off for a burst of refusals; twice as much for each that follows soon. Small: a limit that is kept to
# within two hundredths is refused for a hundredth too much.
_CUT = 0.015
_AGAIN_S = 3.0
_MOST_CUT = 0.5
_EASE = 1.02  # of the rate, for each minute without a refusal
# A limit that no one told was measured low, where few requests were under way: it grows until it is refused again.
_GROW = 1.05
_GROW_EVERY_S = 10.0
_WINDOW_S = 10.0
_LONGEST_PAUSE_S = 120.0
_UNTOLD_PAUSE_S = 1.0  # after a refusal that says nothing
_LOOK_EVERY_S = 0.25  # whether it is still wanted
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_DURATIONS = re.compile(rf"(?:{_DURATION.pattern})+")
_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Limiter:
    """Lets requests go evenly, so that sliding windows, fixed windows and token buckets are all content.

    Each limit is a schedule (GCRA): a request moves it on by its own share of a minute. What the server says of its
    limits lowers ours, never raises it. A refusal (429) stops everybody until the server's `retry-after`, and lowers
    the rate for good unless a minute passes without another.
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
        self._cut = _CUT
        self._catch_up = _CATCH_UP_S
        self._guessed = False
        self._not_before = 0.0
        self._cut_at = float("-inf")
        self._eased_at = clock()
        self._sent: deque[float] = deque(maxlen=10_000)

    def requests_per_second(self, tokens: int) -> float | None:
        """The rate at which requests of so many tokens may go now; None without a limit."""
        rates = [rate / cost for kind, cost in (("requests", 1), ("tokens", tokens)) if (rate := self._rate(kind))]
        return min(rates, default=None)

    async def admit(self, tokens: int, given_up: Callable[[], bool] = lambda: False) -> float:
        """Wait until a request of so many tokens may go, or nobody wants it any more; the moment at which it did."""
        while True:
            now = self._clock()
            self._ease(now)
            earliest = max(self._not_before, *self._next.values())
            if earliest <= now or given_up():
                break
            await self._sleep(min(earliest - now, _LOOK_EVERY_S))
        for kind, cost in (("requests", 1), ("tokens", tokens)):
            rate = self._rate(kind)
            if rate is not None:
                self._next[kind] = max(self._next[kind], now - self._catch_up) + cost / rate
        self._sent.append(now)
        return now

    def settle(self, reserved: int, used: int) -> None:
        """The server counted so many tokens where so many were reserved."""
        rate = self._rate("tokens")
        if rate is not None:
            self._next["tokens"] += (used - reserved) / rate

    def heard(self, headers: Mapping[str, str], tokens: int) -> None:
        """What a server says of its limits with an answer, in OpenAI's headers; `tokens` is what a request takes."""
        for kind, need in (("requests", 1), ("tokens", tokens)):
            limit = _number(headers.get(f"x-ratelimit-limit-{kind}"))
            if limit:
                ours = self._limits[kind]
                guessed = self._guessed and kind == "requests"
                self._limits[kind] = limit if ours is None or guessed else min(ours, limit)
                if guessed:
                    self._guessed, self._factor = False, min(1.0, self._factor)
            remaining = _number(headers.get(f"x-ratelimit-remaining-{kind}"))
            if remaining is not None and remaining < need:
                # The reset is when all of the limit is there again; what one request needs is there sooner.
                reset = duration(headers.get(f"x-ratelimit-reset-{kind}")) or 0.0
                self._pause(reset * min(1.0, (need - remaining) / max((limit or need) - remaining, 1.0)))

    def refused(self, sent_at: float, retry_after_s: float | None) -> None:
        """A request that went at `sent_at` met a 429. One cut for all that were under way together."""
        now = self._clock()
        if sent_at >= self._cut_at:
            if all(limit is None for limit in self._limits.values()):
                # Nobody told us a limit: what went through lately was too much, and the first measure of it.
                lately = sum(1 for moment in self._sent if moment > now - _WINDOW_S)
                window = min(_WINDOW_S, max(now - self._sent[0], 1.0)) if self._sent else _WINDOW_S
                self._limits["requests"] = max(lately, 1) / window * 60
                self._guessed = True
            else:
                self._catch_up = _EVEN_S
                self._cut = min(2 * self._cut, _MOST_CUT) if now - self._cut_at < _AGAIN_S else _CUT
                self._factor *= 1 - self._cut
            self._cut_at = self._eased_at = now
        self._pause(_UNTOLD_PAUSE_S if retry_after_s is None else retry_after_s)

    def _pause(self, seconds: float) -> None:
        self._not_before = max(self._not_before, self._clock() + min(seconds, _LONGEST_PAUSE_S))

    def _ease(self, now: float) -> None:
        if self._guessed and now - self._eased_at >= _GROW_EVERY_S:
            self._factor, self._eased_at = self._factor * _GROW, now
        elif self._factor < 1.0 and now - self._eased_at >= 60:
            self._factor, self._eased_at = min(1.0, self._factor * _EASE), now

    def _rate(self, kind: str) -> float | None:
        limit = self._limits[kind]
        return None if limit is None else limit * _SHARE * self._factor / 60


def duration(text: str | None) -> float | None:
    """Seconds of "6m0s", "350ms", "12" or "1.5"; None for anything else."""
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
