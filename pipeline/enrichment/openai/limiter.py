"""Pacing under a server's limits: from the settings, from its headers, and from what it refuses."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

from pipeline.enrichment.openai.pace import Pace
from pipeline.enrichment.openai.rate_headers import amount, duration

# See docs/decisions/0064-pace-learned-from-refusals.md.
_LIMIT_SHARE = 0.98  # of a limit that is used: a server's clock is not ours
_CATCH_UP_S = 0.1  # of allowance that may be caught up on after a stall
_CATCH_UP_AFTER_REFUSAL_S = 0.01
_LONGEST_RESET_S = 60.0  # limits are per minute
_RAISE_EVERY_S = 60.0  # headers that differ from answer to answer must not undo each measurement
_TICK_S = 0.25  # how often a wait looks whether the request is still wanted


class Limiter:
    """Spaces requests evenly, which satisfies sliding windows, fixed windows and token buckets alike.

    Each limit is a schedule (GCRA) that a request advances by its own share of a minute. A limit of the settings is an
    upper bound. A limit in the server's headers lowers it, or stands in its place. Below both, the pace is what the
    server was seen to let pass, once it has refused a request (429).
    """

    def __init__(
        self,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._configured = {"requests": requests_per_minute, "tokens": tokens_per_minute}
        self._told: dict[str, float | None] = {"requests": None, "tokens": None}  # by the server's headers
        self._next = {"requests": 0.0, "tokens": 0.0}
        self._clock = clock
        self._sleep = sleep
        self._pace = Pace(clock())
        self._latest_tokens = 1
        self._catch_up_s = _CATCH_UP_S
        self._paused_until = 0.0
        self._raised_at = float("-inf")

    @property
    def refusals_in_a_row(self) -> int:
        """The number of pauses after refusals since a request passed."""
        return self._pace.refusals_in_a_row

    def requests_per_second(self, tokens: int) -> float | None:
        """Return how many requests of so many tokens may be sent per second now; None without a limit."""
        rates = [rate / cost for kind, cost in (("requests", 1), ("tokens", tokens)) if (rate := self._rate(kind))]
        return min(rates, default=None)

    async def admit(self, tokens: int, cancelled: Callable[[], bool] = lambda: False) -> float:
        """Wait until a request of so many tokens may be sent, or is cancelled; return that moment on the clock."""
        while True:
            now = self._clock()
            earliest = max(self._paused_until, self._pace.paused_until, *self._next.values())
            if cancelled():
                return now
            if earliest <= now:
                break
            await self._sleep(min(earliest - now, _TICK_S))
        self._pace.sent(now)
        self._latest_tokens = tokens
        for kind, cost in (("requests", 1), ("tokens", tokens)):
            rate = self._rate(kind)
            if rate is not None:
                self._next[kind] = max(self._next[kind], now - self._catch_up_s) + cost / rate
        return now

    def settle(self, reserved: int, used: int) -> None:
        """Correct the schedule of a request: the server counted `used` tokens where `reserved` were admitted."""
        rate = self._rate("tokens")
        if rate is not None:
            self._next["tokens"] += (used - reserved) / rate

    def read_headers(self, headers: Mapping[str, str], tokens: int, sent_at: float | None = None) -> None:
        """Take over limits and remaining allowance from OpenAI's headers.

        `tokens` is the estimate of one request. `sent_at` is the moment that the remaining allowance is about: servers
        count when a request comes in, and its answer may take long. Without it, that moment is now.
        """
        for kind, need in (("requests", 1), ("tokens", tokens)):
            limit = amount(headers.get(f"x-ratelimit-limit-{kind}"))
            if limit is None or limit < need:  # no limit: nothing could be asked at all
                continue
            self._tell(kind, limit)
            remaining = amount(headers.get(f"x-ratelimit-remaining-{kind}"))
            if remaining is not None and remaining < need:
                # The reset is when all of the limit is there again; what one request needs is there sooner.
                reset_s = min(duration(headers.get(f"x-ratelimit-reset-{kind}")) or 0.0, _LONGEST_RESET_S)
                wait_s = reset_s * min(1.0, (need - remaining) / max(limit - remaining, 1.0))
                counted_at = self._clock() if sent_at is None else sent_at
                self._paused_until = max(self._paused_until, counted_at + wait_s)

    def refused(self, sent_at: float, retry_after_s: float | None) -> None:
        """Pause after a 429 to a request that was sent at `sent_at`; all in flight with it cause one cut."""
        self._catch_up_s = _CATCH_UP_AFTER_REFUSAL_S
        self._pace.refused(self._clock(), sent_at, retry_after_s, self.requests_per_second(self._latest_tokens))

    def _tell(self, kind: str, limit: float) -> None:
        """Take over a limit that the server tells. A higher one than before replaces what was measured."""
        now, before = self._clock(), self._told[kind]
        self._told[kind] = limit
        if (before is None or limit > before) and now - self._raised_at >= _RAISE_EVERY_S:
            self._raised_at = now
            self._pace.forget()

    def _rate(self, kind: str) -> float | None:
        """Return the requests or tokens per second that may be used now; None without a limit."""
        limits = [limit for limit in (self._configured[kind], self._told[kind]) if limit is not None]
        rates = [min(limits) * _LIMIT_SHARE / 60] if limits else []
        if kind == "requests" and (pace := self._pace.rate(self._clock())) is not None:
            rates.append(pace)
        return min(rates, default=None)
