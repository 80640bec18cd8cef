"""A question and what becomes of it: retries of what may pass, a second question where the answer was no use."""

import asyncio
import random
import threading
import time
from collections.abc import Mapping, Sequence

import openai

from pipeline.enrichment.budget import Allowance
from pipeline.enrichment.generator import GeneratedExpansion, GenerationFailure, Outcome, Question, TokenUsage
from pipeline.enrichment.openai.answers import Unreadable, read
from pipeline.enrichment.openai.client import Completion, Fault, complete
from pipeline.enrichment.openai.limits import Limiter
from pipeline.enrichment.openai.requests import RUNGS, Requests
from pipeline.settings import EnrichmentSettings
from router.expansion import Expansion

# A wrong answer was paid for: one more may be luck, three of a kind are the tool's or the model's nature.
_ANSWERS = 2
_LONGEST_BACKOFF_S = 30.0
# A server that asks for more patience than this means another night.
_LONGEST_RETRY_S = 120.0
# Refusals for the rate are the server's pacing, not a fault: they have a bound of their own.
_REFUSALS = 8


class Exchange:
    """Carries questions to a server and back. `rung` is where the ladder of structured output stands for all."""

    def __init__(
        self,
        settings: EnrichmentSettings,
        requests: Requests,
        limiter: Limiter,
        client: openai.AsyncOpenAI,
        stop: threading.Event,
    ) -> None:
        self.client = client
        self.rung = 0
        self.latencies: list[float] = []
        self._settings = settings
        self._requests = requests
        self._limiter = limiter
        self._stop = stop
        self._jitter = random.Random(0)  # noqa: S311 - spreads retries

    async def outcomes(
        self, pack: Sequence[Question], allowance: Allowance, sent_at: float, tokens: int
    ) -> list[Outcome]:
        """One outcome a question. The first request was admitted at `sent_at` for so many tokens, and `allowance` holds
        its bound; what more it takes is asked for first. Raises Fault where no request to this server has a chance:
        "unusable" or "quota"."""
        left = list(pack)
        found: dict[str, Outcome] = {}
        spent = {question.key: TokenUsage() for question in pack}
        below = 0
        for attempt in range(1, _ANSWERS + 1):
            last = attempt == _ANSWERS
            try:
                rung = min(self.rung + below, len(RUNGS) - 1)
                completion, usage = await self._completion(
                    left, rung, allowance, sent_at if attempt == 1 else None, tokens
                )
            except Fault as fault:
                if fault.kind in ("unusable", "quota"):
                    raise
                for question in left:
                    usage = spent[question.key] + TokenUsage(unconfirmed_usd=fault.lost_usd / len(left))
                    found[question.key] = GenerationFailure(question.record.tool_id, fault.kind, fault.message, usage)
                break
            except ValueError as error:  # a 200 that is no completion
                read_ = {question.key: Unreadable("shape", str(error)) for question in left}
                verdicts: Mapping[str, Expansion | Unreadable | GenerationFailure] = read_
                shares = [TokenUsage()] * len(left)
            else:
                verdicts = judge(completion, left)
                shares = _shared(usage, len(left))
            again = []
            for question, share in zip(left, shares, strict=True):
                spent[question.key] = spent[question.key] + share
                total, verdict, tool_id = spent[question.key], verdicts[question.key], question.record.tool_id
                if isinstance(verdict, Expansion):
                    found[question.key] = GeneratedExpansion(tool_id, verdict, total)
                elif isinstance(verdict, Unreadable):
                    found[question.key] = GenerationFailure(tool_id, verdict.kind, str(verdict), total)
                    again.append(question)
                else:
                    found[question.key] = GenerationFailure(tool_id, verdict.kind, verdict.message, total)
            if last or not again or self._stop.is_set() or not allowance.more(self._requests.bound(again)):
                break
            left, below, tokens = again, 1, self._requests.tokens(again)
        return [found[question.key] for question in pack]

    async def _completion(
        self, questions: Sequence[Question], rung: int, allowance: Allowance, sent_at: float | None, tokens: int
    ) -> tuple[Completion, TokenUsage]:
        """A completion, the ladder gone down and retries made as the server's faults ask. Raises Fault."""
        faults = refusals = 0
        lost = 0.0
        while True:
            if sent_at is None:
                sent_at = await self._limiter.admit(tokens, self._stop.is_set)
                if self._stop.is_set():
                    raise Fault("connection", "interrupted before it was asked a second time", lost_usd=lost)
            body = self._requests.body(questions, rung)
            started = time.monotonic()
            try:
                completion = await complete(self.client, body, self._settings.timeout_s)
            except Fault as fault:
                # By estimate: half of what was set aside, whether or not the server went on to the end.
                lately = self._requests.bound(questions) / 2 if fault.billed else 0.0
                lost += lately
                fault.lost_usd = lost
                if fault.kind == "format" and rung < len(RUNGS) - 1:
                    rung += 1
                    self.rung = max(self.rung, rung)
                    sent_at = None
                    continue
                if fault.kind == "format":
                    raise Fault("refused", fault.message) from fault
                if fault.kind == "rate":
                    refusals += 1
                    self._limiter.heard(fault.headers, tokens)
                    self._limiter.refused(sent_at, fault.retry_after_s)
                    if refusals > _REFUSALS or (fault.retry_after_s or 0.0) > _LONGEST_RETRY_S:
                        raise
                    if refusals > 1:  # the server's own word was too short
                        await self._wait(refusals - 1, None)
                elif fault.kind in ("timeout", "connection", "server"):
                    faults += 1
                    if faults > self._settings.max_retries or not allowance.more(lately):
                        raise
                    await self._wait(faults, fault.retry_after_s)
                else:
                    raise
                if self._stop.is_set():
                    raise
                sent_at = None
                continue
            self.latencies.append(time.monotonic() - started)
            del self.latencies[:-100]
            self._limiter.heard(completion.headers, tokens)
            if completion.prompt_tokens is not None and completion.completion_tokens is not None:
                self._limiter.settle(tokens, completion.prompt_tokens + completion.completion_tokens)
            self._requests.learn(self._requests.prompt_tokens(questions), completion, len(questions))
            return completion, self._requests.usage(completion) + TokenUsage(unconfirmed_usd=lost)

    async def _wait(self, faults: int, retry_after_s: float | None) -> None:
        """Before a retry: what the server says, else twice as long each time, spread so that not all come at once."""
        backoff = min(self._settings.retry_delay_s * 2 ** (faults - 1), _LONGEST_BACKOFF_S)
        delay = backoff * (0.5 + self._jitter.random()) if retry_after_s is None else retry_after_s
        until = time.monotonic() + min(delay, _LONGEST_RETRY_S)
        while (left := until - time.monotonic()) > 0 and not self._stop.is_set():
            await asyncio.sleep(min(left, 0.2))


def judge(
    completion: Completion, questions: Sequence[Question]
) -> Mapping[str, Expansion | Unreadable | GenerationFailure]:
    """What an answer holds for each question; a refusal, or a cut, stands for all."""
    if completion.refusal or completion.finish_reason == "content_filter":
        kind, message = "refusal", completion.refusal or "the server's content filter withheld the answer"
    elif completion.finish_reason == "length":
        kind = "truncated"
        message = (
            "the answer was cut at the model's length limit: raise it in enrichment.parameters (max_completion_tokens)"
        )
    else:
        return read(completion.content, questions)
    return {question.key: GenerationFailure(question.record.tool_id, kind, message) for question in questions}


def _shared(usage: TokenUsage, count: int) -> list[TokenUsage]:
    """A pack's usage, in equal parts that add up to it."""

    def parts(total: int) -> list[int]:
        return [total // count + (i < total % count) for i in range(count)]

    prompt, cached, completed = (parts(n) for n in (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens))
    cost = None if usage.cost_usd is None else usage.cost_usd / count
    lost = usage.unconfirmed_usd / count
    return [TokenUsage(prompt[i], cached[i], completed[i], cost, lost) for i in range(count)]
