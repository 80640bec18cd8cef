"""Direct requests: each is retried as the policy says, and sent once more where its answer is unreadable."""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import openai

from pipeline.enrichment.budget import Budget, Reservation
from pipeline.enrichment.generator import GenerationFailure, Outcome, Question, TokenUsage
from pipeline.enrichment.openai.answers import OutputMode, Unreadable, outcome_of, read_answers
from pipeline.enrichment.openai.breaker import Breaker
from pipeline.enrichment.openai.chat import Completion, complete
from pipeline.enrichment.openai.direct.in_flight import InFlight
from pipeline.enrichment.openai.faults import ABORTING, Fault
from pipeline.enrichment.openai.limiter import Limiter
from pipeline.enrichment.openai.requests import RequestBuilder
from pipeline.enrichment.openai.retry import Attempt, Fail, FallBack, Retry, RetryPolicy
from pipeline.settings import EnrichmentSettings
from router.expansion import Expansion

_logger = logging.getLogger(__name__)

# A wrong answer was paid for. One more question may help; three wrong answers are the tool's or the model's nature.
_MAX_ANSWERS = 2
_LATENCY_WEIGHT = 0.2  # of the newest latency in the moving mean
_TICK_S = 0.2  # how often a wait looks whether to stop


@dataclass
class ServerState:
    """What a build has learned of a server. It lasts from one session to the next.

    `answered` tells whether the server ever gave an answer. `latency_s` is the moving mean of its answers' latency, 0
    before the first. `request_tokens` is the estimate for the last request. `output_mode` is the first mode in the
    fallback order that the server has not refused.
    """

    breaker: Breaker
    in_flight: InFlight = field(default_factory=InFlight)
    answered: bool = False
    latency_s: float = 0.0
    request_tokens: int = 2_000
    output_mode: OutputMode = OutputMode.JSON_SCHEMA


@dataclass(frozen=True)
class DirectContext:
    """What the sessions of a build share."""

    settings: EnrichmentSettings
    requests: RequestBuilder
    limiter: Limiter
    budget: Budget
    server: ServerState


class DirectClient:
    """Sends questions to a server and returns their outcomes."""

    def __init__(self, context: DirectContext, client: openai.AsyncOpenAI, is_over: Callable[[], bool]) -> None:
        """`is_over` tells to end waits and to send no further request."""
        self._settings = context.settings
        self._requests = context.requests
        self._limiter = context.limiter
        self._server = context.server
        self._client = client
        self._is_over = is_over
        self._policy = RetryPolicy.of_requests(context.settings)
        self._jitter = random.Random(0)  # noqa: S311 - spreads retries

    async def outcomes(
        self, questions: Sequence[Question], reservation: Reservation, admitted_at: float, tokens: int
    ) -> list[Outcome]:
        """Return one outcome for each question of a request.

        The limiter admitted the first request at `admitted_at` for so many tokens. `reservation` holds its highest
        cost, and is extended for further requests. Raises Fault where every other request would meet the same fault.
        """
        unanswered = list(questions)
        admitted: float | None = admitted_at
        outcomes: dict[str, Outcome] = {}
        usages = {question.key: TokenUsage() for question in questions}
        for number in range(1, _MAX_ANSWERS + 1):
            mode = self._server.output_mode if number == 1 else self._server.output_mode.fallback
            try:
                answers, usage, completion = await self._answers(unanswered, mode, reservation, admitted, tokens)
            except Fault as fault:
                if fault.kind in ABORTING:
                    raise
                if number > 1 and self._is_over() and not fault.lost_usd:
                    break  # not asked a second time: what is known of the first answer stays
                lost = TokenUsage(unconfirmed_usd=fault.lost_usd / len(unanswered))
                for question in unanswered:
                    usage = usages[question.key] + lost
                    outcomes[question.key] = GenerationFailure(
                        question.record.tool_id, fault.kind, fault.message, usage
                    )
                break
            for question, share in zip(unanswered, _equal_shares(usage, len(unanswered)), strict=True):
                usages[question.key] = usages[question.key] + share
                outcomes[question.key] = outcome_of(question, answers[question.key], usages[question.key], completion)
            unreadable = [question for question in unanswered if isinstance(answers[question.key], Unreadable)]
            if number == _MAX_ANSWERS or not unreadable or self._is_over():
                break
            if not reservation.extend(self._requests.highest_cost(unreadable)):
                break
            unanswered, tokens, admitted = unreadable, self._requests.total_tokens(unreadable), None
        return [outcomes[question.key] for question in questions]

    async def _answers(
        self,
        questions: Sequence[Question],
        output_mode: OutputMode,
        reservation: Reservation,
        admitted_at: float | None,
        tokens: int,
    ) -> tuple[Mapping[str, Expansion | Unreadable | GenerationFailure], TokenUsage, Completion | None]:
        """Return the answers by key, the usage of all of them together, and the completion. Raises Fault."""
        try:
            completion, lost_usd = await self._completion(questions, output_mode, reservation, admitted_at, tokens)
        except ValueError as error:  # a 200 that holds no completion
            return {question.key: Unreadable("shape", str(error)) for question in questions}, TokenUsage(), None
        self._requests.learn(self._requests.prompt_tokens(questions), completion, len(questions))
        usage = self._requests.usage(completion) + TokenUsage(unconfirmed_usd=lost_usd)
        return read_answers(completion, questions), usage, completion

    async def _completion(
        self,
        questions: Sequence[Question],
        output_mode: OutputMode,
        reservation: Reservation,
        admitted_at: float | None,
        tokens: int,
    ) -> tuple[Completion, float]:
        """Return a completion, and the estimated cost in US dollars of the attempts before it. Raises Fault."""
        attempt = Attempt(output_mode=output_mode)
        lost_usd = 0.0
        latest = Fault("connection", "interrupted before it was asked a second time")
        while True:
            if admitted_at is None:
                admitted_at = await self._limiter.admit(tokens, self._is_over)
                if self._is_over():
                    raise latest
            try:
                body = self._requests.body(questions, attempt.output_mode)
                return await self._send(body, tokens, admitted_at), lost_usd
            except Fault as fault:
                latest = fault
                # By estimate: half of what was reserved, whether or not the server went on to the end.
                attempt_usd = self._requests.highest_cost(questions) / 2 if fault.billed else 0.0
                lost_usd += attempt_usd
                fault.lost_usd = lost_usd
                if fault.kind == "rate":
                    self._limiter.read_headers(fault.headers, tokens)
                    self._limiter.refused(admitted_at, fault.retry_after_s)
                    # Refusals of other requests count too, as long as none passes.
                    refusals = max(attempt.rate_limits, self._limiter.refusals_in_a_row - 1)
                    attempt = replace(attempt, rate_limits=refusals)
                attempt = await self._next_attempt(attempt, fault, reservation, attempt_usd)
                admitted_at = None

    async def _send(self, body: Mapping[str, object], tokens: int, admitted_at: float) -> Completion:
        now = asyncio.get_running_loop().time
        started = now()
        self._server.in_flight.sent(started)
        completion = await complete(self._client, body, self._settings.timeout_s)
        latency = now() - started
        server = self._server
        server.latency_s += _LATENCY_WEIGHT * (latency - server.latency_s) if server.latency_s else latency
        server.in_flight.answered(now())
        self._limiter.read_headers(completion.headers, tokens, admitted_at)
        if completion.prompt_tokens is not None and completion.completion_tokens is not None:
            self._limiter.settle(tokens, completion.prompt_tokens + completion.completion_tokens)
        return completion

    async def _next_attempt(
        self, attempt: Attempt, fault: Fault, reservation: Reservation, attempt_usd: float
    ) -> Attempt:
        """Carry out what the policy says. Raises the fault where no attempt follows."""
        match self._policy.next_step(attempt, fault):
            case FallBack(output_mode):
                self._server.output_mode = max(self._server.output_mode, output_mode)
                return replace(attempt, output_mode=output_mode)
            case Retry() as retry if fault.kind == "rate" or reservation.extend(attempt_usd):
                _log_retry(fault, retry)
                await self._wait(retry)
                if self._is_over():
                    raise fault
                return attempt.after(fault)
            case Fail("rate") if self._limiter.refusals_in_a_row < attempt.rate_limits:
                # Others pass: it is this request that is too large for the limit.
                raise Fault("refused", fault.message, lost_usd=fault.lost_usd) from fault
            case Fail(kind) if kind != fault.kind:
                raise Fault(kind, fault.message, lost_usd=fault.lost_usd) from fault
            case _:
                raise fault

    async def _wait(self, retry: Retry) -> None:
        """Wait as long as the server dictates; else about as long as the policy says, so that retries spread out."""
        delay_s = retry.after_s if retry.dictated else retry.after_s * (0.5 + self._jitter.random())
        now = asyncio.get_running_loop().time
        until = now() + delay_s
        while (remaining := until - now()) > 0 and not self._is_over():
            await asyncio.sleep(min(remaining, _TICK_S))


def _log_retry(fault: Fault, retry: Retry) -> None:
    """Log that a request is sent again; a 429 pauses all requests for as long as the server asks."""
    limited = fault.kind == "rate"
    wait_s = fault.retry_after_s if limited and fault.retry_after_s is not None else retry.after_s
    fields = {"event": "rate_limited" if limited else "retry", "wait_s": round(wait_s, 3)}
    _logger.info("asked again after a fault (%s): %s", fault.kind, fault.message, extra=fields)


def _equal_shares(usage: TokenUsage, count: int) -> list[TokenUsage]:
    """Return a request's usage in equal parts that add up to it."""

    def parts(total: int) -> list[int]:
        return [total // count + (i < total % count) for i in range(count)]

    prompt, cached, completed = (parts(n) for n in (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens))
    cost = None if usage.cost_usd is None else usage.cost_usd / count
    unconfirmed = usage.unconfirmed_usd / count
    return [TokenUsage(prompt[i], cached[i], completed[i], cost, unconfirmed) for i in range(count)]
