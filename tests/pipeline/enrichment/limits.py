"""Limits as providers enforce them."""

from collections import deque


class Limit:
    """One limit, enforced in one of four ways: a sliding window of `window_s`, a sliding window of a second, a bucket
    that holds `burst_s` seconds' worth, a fixed window of `window_s`. All allow `per_minute` on average, which may be
    changed."""

    def __init__(self, per_minute: float, style: str, window_s: float, burst_s: float = 1.0) -> None:
        self.per_minute = per_minute
        self._style = style
        self._span = {"second": 1.0, "bucket": burst_s}.get(style, window_s)
        self._held: deque[tuple[float, float]] = deque()
        self._used = 0.0
        self._seen = 0.0

    def left(self, now: float) -> float:
        """Return how much may be taken now."""
        if self._style == "bucket":
            self._used = max(0.0, self._used - (now - self._seen) * self.per_minute / 60)
        elif self._style == "fixed":
            if now // self._span != self._seen // self._span:
                self._used = 0.0
        else:
            while self._held and self._held[0][0] <= now - self._span:
                self._used -= self._held.popleft()[1]
        self._seen = now
        return self.per_minute * self._span / 60 - self._used

    def reset(self, now: float) -> float:
        """Return the seconds until all of it may be taken, as `x-ratelimit-reset-*` tells."""
        self.left(now)
        if self._style == "bucket":
            return self._used * 60 / self.per_minute
        if self._style == "fixed":
            return self._span - now % self._span
        return self._held[-1][0] + self._span - now if self._held else 0.0

    def take(self, now: float, amount: float) -> None:
        """Take so much of the limit."""
        self._used += amount
        if self._style in ("minute", "second"):
            self._held.append((now, amount))

    def wait(self, now: float, amount: float) -> float:
        """Return the seconds until so much may be taken."""
        missing = amount - self.left(now)
        if missing <= 0:
            return 0.0
        if self._style == "bucket":
            return missing * 60 / self.per_minute
        if self._style == "fixed":
            return self._span - now % self._span
        for moment, held in self._held:
            missing -= held
            if missing <= 0:
                return moment + self._span - now
        return self._span
