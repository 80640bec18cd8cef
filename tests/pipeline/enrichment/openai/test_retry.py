"""The retry policy as a table: the policy, the attempt, the fault, and what follows."""

import pytest

from pipeline.enrichment.openai.answers import OutputMode
from pipeline.enrichment.openai.faults import Fault
from pipeline.enrichment.openai.retry import Abort, Attempt, Fail, FallBack, NextStep, Retry, RetryPolicy
from pipeline.settings import EnrichmentSettings

_SETTINGS = EnrichmentSettings(max_retries=2, retry_delay_s=0.5)
_REQUESTS = RetryPolicy.of_requests(_SETTINGS)
_CALLS = RetryPolicy.of_calls(_SETTINGS)
_BATCHED = RetryPolicy.of_batched_questions()
_SCHEMA, _OBJECT, _TEXT = OutputMode


@pytest.mark.parametrize(
    ("policy", "attempt", "kind", "retry_after_s", "step"),
    [
        # Transient faults: the wait doubles, up to the settings' number of retries.
        (_REQUESTS, Attempt(), "timeout", None, Retry(0.5)),
        (_REQUESTS, Attempt(faults=1), "connection", None, Retry(1.0)),
        (_REQUESTS, Attempt(faults=2), "server", None, Fail("server")),
        (RetryPolicy(99, 1.0), Attempt(faults=8), "server", None, Retry(30.0)),
        # The server's own wait goes before ours; a very long one is cut, or ends the retries of a call.
        (_REQUESTS, Attempt(), "server", 7.0, Retry(7.0, dictated=True)),
        (_REQUESTS, Attempt(), "server", 600.0, Retry(120.0, dictated=True)),
        (_CALLS, Attempt(), "server", 7.0, Retry(7.0, dictated=True)),
        (_CALLS, Attempt(), "server", 600.0, Fail("server")),
        (_CALLS, Attempt(), "server", 0.0, Retry(0.5)),
        # 429s of direct requests: the limiter waits first, then the policy too; they have a bound of their own.
        (_REQUESTS, Attempt(), "rate", 7.0, Retry(0.0)),
        (_REQUESTS, Attempt(faults=2, rate_limits=1), "rate", None, Retry(0.0)),
        (_REQUESTS, Attempt(rate_limits=7), "rate", None, Retry(0.0)),
        (_REQUESTS, Attempt(rate_limits=8), "rate", None, Fail("rate")),
        (_REQUESTS, Attempt(), "rate", 600.0, Fail("rate")),
        (_REQUESTS, Attempt(rate_limits=8), "server", None, Retry(0.5)),
        # 429s of calls and of batched questions count as any other fault.
        (_CALLS, Attempt(), "rate", None, Retry(0.5)),
        (_CALLS, Attempt(faults=1, rate_limits=1), "rate", None, Fail("rate")),
        (_CALLS, Attempt(rate_limits=1), "server", None, Retry(1.0)),
        (_BATCHED, Attempt(), "rate", None, Retry(0.0)),
        (_BATCHED, Attempt(rate_limits=1), "server", None, Fail("server")),
        (_BATCHED, Attempt(), "expired", None, Retry(0.0)),
        (_BATCHED, Attempt(faults=1), "expired", None, Fail("timeout")),
        # A refused response format: the next output mode, however many faults there were; after the last, a refusal.
        (_REQUESTS, Attempt(output_mode=_SCHEMA), "format", None, FallBack(_OBJECT)),
        (_REQUESTS, Attempt(faults=9, output_mode=_OBJECT), "format", None, FallBack(_TEXT)),
        (_REQUESTS, Attempt(output_mode=_TEXT), "format", None, Fail("refused")),
        (_BATCHED, Attempt(faults=1, output_mode=_SCHEMA), "format", None, FallBack(_OBJECT)),
        (_CALLS, Attempt(), "format", None, Fail("refused")),
        # A wrong request stays wrong; what every request would meet ends all of them.
        (_REQUESTS, Attempt(), "refused", None, Fail("refused")),
        (_REQUESTS, Attempt(), "unusable", None, Abort()),
        (_CALLS, Attempt(), "quota", 1.0, Abort()),
        (_BATCHED, Attempt(), "quota", None, Abort()),
    ],
)
def test_each_fault_has_its_next_step(
    policy: RetryPolicy, attempt: Attempt, kind: str, retry_after_s: float | None, step: NextStep
) -> None:
    assert policy.next_step(attempt, Fault(kind, "busy", retry_after_s)) == step


def test_an_attempt_counts_429s_apart_and_keeps_its_output_mode() -> None:
    attempt = Attempt(output_mode=_OBJECT).after(Fault("rate", "busy")).after(Fault("server", "busy"))
    assert attempt == Attempt(faults=1, rate_limits=1, output_mode=_OBJECT)
