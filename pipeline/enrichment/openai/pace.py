"""Pacing under a server's limits: from the settings, from its headers, and from what it refuses (429)."""

from collections import deque
from collections.abc import Mapping

from pipeline.enrichment.openai.chat import amount

# See docs/decisions/model-requests.md.
_LIMIT_SHARE = 0.98  # of a known limit that is used: a server's clock is not ours
_CATCH_UP_S = 0.1  # of allowance that may be caught up on after a stall
_CATCH_UP_AFTER_REFUSAL_S = 0.01
# After a refusal: a share of the rate that passed in the latest seconds, and a growth in which the rate doubles.
_RECENT_S = 10.0
_STILL_GROWING = 1.05  # the rate was higher at the end of that time than in its mean
_DEEPEST_CUT = 0.8  # by one refusal: a short time measures little
_KEPT_SHARE = 0.97
_KEPT_S = 15.0
_DOUBLING_S = 40.0  # from then on, slowly at first, as in TCP CUBIC
_FIRST_PAUSE_S = 0.75  # without the server's word, or where that was too short; doubled with each further pause
_LONGEST_BACKOFF_S = 10.0
_LONGEST_PAUSE_S = 120.0  # whatever the server asks for
_SHORTEST_PROBE_S = 0.2
_LONGEST_PROBE_S = 5.0
_FIRST_IN_FLIGHT = 8
_MOST_IN_FLIGHT = 128
_MOST_AT_A_KNOWN_RATE = 512  # which bounds them by itself
_GAIN = 1.25  # in answers per second that a doubling of the requests in flight must bring


class Pace:
    """Says when a request may be sent, and learns from what becomes of it. All moments are of one monotonic clock.

    Requests are spaced evenly, which satisfies sliding windows, fixed windows and token buckets alike: each limit is a
    schedule (GCRA) that a request advances by its share of a minute. A limit of the settings is an upper bound; one in
    the server's headers lowers it, or stands in its place. A refusal pauses all requests, for as long as the server
    asks, and cuts the rate; then the rate grows again.

    `refusals` counts the pauses since a request passed.
    """

    def __init__(self, requests_per_minute: float | None = None, tokens_per_minute: float | None = None) -> None:
        self.refusals = 0
        self._limits = {"requests": requests_per_minute, "tokens": tokens_per_minute}
        self._announced: dict[str, float] = {}  # by the server's headers
        self._next = {"requests": 0.0, "tokens": 0.0}
        self._paused_until = 0.0
        self._refused_at = float("-inf")  # the refusal that began the latest pause
        self._probe_s = _SHORTEST_PROBE_S  # in which the fate of the first request after a pause is known
        self._probing = False
        self._rate: float | None = None  # requests per second, learned
        self._grows_from = 0.0
        self._sent: deque[float] = deque()  # the requests of the latest seconds since a pause, less those refused
        self._in_flight = InFlight()

    def requests_per_second(self, now: float) -> float | None:
        """Return the rate that may be used now; None where none is known."""
        limit = self._limit("requests")
        if self._rate is None:
            return limit
        age = (now - self._grows_from - _KEPT_S) / _DOUBLING_S
        learned = self._rate * (_KEPT_SHARE + min(max(age, 0.0), 1.0) ** 3)
        return learned if limit is None else min(limit, learned)

    def max_in_flight(self) -> int:
        """Return how many requests may be in flight."""
        known = self._rate is not None or self._limit("requests") is not None
        return _MOST_AT_A_KNOWN_RATE if known else self._in_flight.limit

    def wait_s(self, now: float) -> float:
        """Return the seconds until the next request may be sent."""
        return max(self._paused_until, *self._next.values()) - now

    def sent(self, now: float, tokens: int) -> None:
        """Count a request of so many tokens. The first after a pause goes ahead: the others wait for its fate."""
        if self.refusals and not self._probing:
            self._probing, self._paused_until = True, now + self._probe_s
        elif self.refusals:
            self.refusals, self._probing = 0, False
            self._grows_from = now
            self._sent.clear()
        self._sent.append(now)
        while self._sent[0] < now - _RECENT_S:
            self._sent.popleft()
        if self._rate is not None and now - self._grows_from > _KEPT_S + _DOUBLING_S:
            # A rate that nobody uses does not grow.
            self._rate, self._grows_from = max(self._rate, 2 * min(self._rate, self._recent(now))), now
        catch_up_s = _CATCH_UP_S if self._rate is None else _CATCH_UP_AFTER_REFUSAL_S
        for kind, cost, rate in (
            ("requests", 1, self.requests_per_second(now)),
            ("tokens", tokens, self._limit("tokens")),
        ):
            if rate:
                self._next[kind] = max(self._next[kind], now - catch_up_s) + cost / rate

    def answered(self, sent_at: float, now: float, headers: Mapping[str, str], estimated: int, used: int) -> None:
        """Take over the limits in the headers, and the tokens `used` in place of those that were estimated."""
        for kind, need in (("requests", 1), ("tokens", estimated)):
            limit = amount(headers.get(f"x-ratelimit-limit-{kind}"))
            if limit is not None and limit >= need:  # a lower one would allow no request at all
                self._announced[kind] = limit
        if rate := self._limit("tokens"):
            self._next["tokens"] += (used - estimated) / rate
        self._in_flight.answered(sent_at, now)

    def unanswered(self) -> None:
        """Let no more requests be in flight than now: the server is late or down."""
        self._in_flight.stop()

    def refused(self, sent_at: float, now: float, retry_after_s: float | None) -> None:
        """Pause after a 429 to a request that was sent at `sent_at`; all in flight with it cause one pause."""
        if sent_at in self._sent:
            self._sent.remove(sent_at)
        pause_s = retry_after_s or 0.0
        if sent_at >= self._refused_at:
            if not self.refusals:
                self._cut(now)
            if retry_after_s is None or self.refusals:
                pause_s = max(pause_s, min(_FIRST_PAUSE_S * 2.0 ** min(self.refusals, 10), _LONGEST_BACKOFF_S))
            self.refusals += 1
            self._refused_at, self._probing = now, False
            self._probe_s = min(max(4 * (now - sent_at), _SHORTEST_PROBE_S), _LONGEST_PROBE_S)
        self._paused_until = max(self._paused_until, now + min(pause_s, _LONGEST_PAUSE_S))

    def _recent(self, now: float) -> float:
        """Return the rate at which requests passed lately."""
        return len(self._sent) / max(now - self._sent[0], 1.0) if self._sent else 0.0

    def _cut(self, now: float) -> None:
        """Take the rate at which requests passed lately for the server's, if that is lower."""
        recent, rate = self._recent(now), self.requests_per_second(now)
        self._grows_from = now
        if recent:
            self._rate = recent if rate is None else max(min(_STILL_GROWING * recent, rate), _DEEPEST_CUT * rate)

    def _limit(self, kind: str) -> float | None:
        """Return the requests or tokens per second that settings and headers allow; None without a limit."""
        limits = [limit for limit in (self._limits[kind], self._announced.get(kind)) if limit is not None]
        return min(limits) * _LIMIT_SHARE / 60 if limits else None


class InFlight:
    """How many requests may be in flight where no rate is known: doubled as long as more answers per second come of it.

    A hosted model answers more requests at once in the same time. A local one queues what it cannot do: there a
    doubling brings nothing, is taken back, and is the last.
    """

    def __init__(self) -> None:
        self.limit = _FIRST_IN_FLIGHT
        self._grows = True
        self._answers = 0
        self._round_from: float | None = None
        self._throughput = 0.0

    def answered(self, sent_at: float, now: float) -> None:
        """Count an answer; at the end of a round, double the number or take the last doubling back."""
        self._answers += 1
        if self._round_from is None:
            self._round_from = sent_at
        if not self._grows or self._answers < self.limit:
            return
        throughput = self._answers / max(now - self._round_from, 1e-3)
        if throughput >= _GAIN * self._throughput:
            self._throughput = throughput
            self.limit = min(2 * self.limit, _MOST_IN_FLIGHT)
        else:
            self.stop()
        self._answers, self._round_from = 0, now

    def stop(self) -> None:
        """Grow no more: the last doubling is taken back."""
        if self._grows:
            self._grows, self.limit = False, max(self.limit // 2, _FIRST_IN_FLIGHT)
