"""The retry policy of direct requests, of calls of the Batch API and of questions in batches.

See docs/decisions/0030-one-retry-policy.md.
"""

from dataclasses import dataclass

from pipeline.enrichment.openai.answers import OutputMode
from pipeline.enrichment.openai.faults import ABORTING, TRANSIENT, Fault
from pipeline.settings import EnrichmentSettings

_LONGEST_BACKOFF_S = 30.0
# A server that asks for more patience than this will not answer within this build.
_LONGEST_RETRY_AFTER_S = 120.0
# Responses with 429 are the server's pacing, not a fault of the request: they have a bound of their own.
_MAX_RATE_LIMITS = 8
# A failure's kind, where it differs from the last fault's.
_FAILURE_KINDS = {"expired": "timeout", "format": "refused"}


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request as it stands: the faults it met so far, 429s apart, and its output mode.

    A request without an output mode has the last one, which has no fallback.
    """

    faults: int = 0
    rate_limits: int = 0
    output_mode: OutputMode = OutputMode.TEXT

    def after(self, fault: Fault) -> "Attempt":
        """Return the next attempt, in the same output mode, with a fault counted."""
        limited = fault.kind == "rate"
        return Attempt(self.faults + (not limited), self.rate_limits + limited, self.output_mode)


@dataclass(frozen=True, slots=True)
class Retry:
    """Send the same request again after a wait. `dictated` tells that the server set the wait."""

    after_s: float
    dictated: bool = False


@dataclass(frozen=True, slots=True)
class FallBack:
    """Send the request again at once in the next output mode."""

    output_mode: OutputMode


@dataclass(frozen=True, slots=True)
class Fail:
    """Give the request up. `kind` is the failure's kind."""

    kind: str


@dataclass(frozen=True, slots=True)
class Abort:
    """Give everything up: every other request would meet the same fault."""


NextStep = Retry | FallBack | Fail | Abort


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """What is retried, how often and after which wait.

    `max_retries` bounds the transient faults of a request. `max_rate_limits` bounds its 429s apart, where a limiter
    already waits as long as the server asks; None counts them with the other faults. The first retry waits `delay_s`,
    each later one twice as long. `caps_long_waits` tells that a server fault with a very long Retry-After is retried
    after the longest wait; else it is given up.
    """

    max_retries: int
    delay_s: float = 0.0
    max_rate_limits: int | None = None
    caps_long_waits: bool = False

    @classmethod
    def of_requests(cls, settings: EnrichmentSettings) -> "RetryPolicy":
        """Return the policy of direct requests, which a limiter paces."""
        return cls(settings.max_retries, settings.retry_delay_s, _MAX_RATE_LIMITS, caps_long_waits=True)

    @classmethod
    def of_calls(cls, settings: EnrichmentSettings) -> "RetryPolicy":
        """Return the policy of calls of the Batch API."""
        return cls(settings.max_retries, settings.retry_delay_s)

    @classmethod
    def of_batched_questions(cls) -> "RetryPolicy":
        """Return the policy of questions in batches: each is submitted once more at most."""
        return cls(max_retries=1)

    def next_step(self, attempt: Attempt, fault: Fault) -> NextStep:
        """Return what follows a fault. `attempt` counts the faults before this one."""
        if fault.kind in ABORTING:
            return Abort()
        if fault.kind == "format" and attempt.output_mode.has_fallback:
            return FallBack(attempt.output_mode.fallback)
        failure = Fail(_FAILURE_KINDS.get(fault.kind, fault.kind))
        if fault.kind not in TRANSIENT:
            return failure
        if fault.kind == "rate" and self.max_rate_limits is not None:
            return self._after_rate_limit(attempt.rate_limits, self.max_rate_limits, fault) or failure
        faults = attempt.faults + (attempt.rate_limits if self.max_rate_limits is None else 0)
        if faults >= self.max_retries:
            return failure
        if not fault.retry_after_s:
            return Retry(self._backoff_s(faults))
        if fault.retry_after_s > _LONGEST_RETRY_AFTER_S and not self.caps_long_waits:
            return failure
        return Retry(min(fault.retry_after_s, _LONGEST_RETRY_AFTER_S), dictated=True)

    def _after_rate_limit(self, rate_limits: int, most: int, fault: Fault) -> Retry | None:
        if rate_limits >= most or (fault.retry_after_s or 0.0) > _LONGEST_RETRY_AFTER_S:
            return None
        return Retry(0.0)  # the limiter makes all requests wait, as long as the server asks and longer each time

    def _backoff_s(self, retries: int) -> float:
        return min(self.delay_s * float(2**retries), _LONGEST_BACKOFF_S)
