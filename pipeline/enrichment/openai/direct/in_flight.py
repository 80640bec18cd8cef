"""How many requests may be in flight where no rate is known."""

_FIRST = 8
_MOST = 128
_GAIN = 1.25  # in answers per second that a doubling must bring


class InFlight:
    """Doubles the number in flight, round by round, as long as the answers per second grow with it.

    A hosted model answers more requests at once in the same time. A local one queues what it cannot do: there a
    doubling brings nothing, is taken back, and is the last.
    """

    def __init__(self) -> None:
        self.limit = _FIRST
        self._grows = True
        self._answers = 0
        self._round_from: float | None = None
        self._throughput = 0.0

    def sent(self, now: float) -> None:
        """Note the first request, at which the first round begins."""
        if self._round_from is None:
            self._round_from = now

    def answered(self, now: float) -> None:
        """Count an answer; at the end of a round, double the number or take the last doubling back."""
        self._answers += 1
        if not self._grows or self._round_from is None or self._answers < self.limit:
            return
        throughput = self._answers / max(now - self._round_from, 1e-3)
        if throughput >= _GAIN * self._throughput:
            self._throughput = throughput
            self.limit = min(2 * self.limit, _MOST)
        else:
            self.stop()
        self._answers, self._round_from = 0, now

    def stop(self) -> None:
        """Grow no more: the last doubling is taken back."""
        if self._grows:
            self._grows, self.limit = False, max(self.limit // 2, _FIRST)
