"""The generator that asks a chat model directly, with many requests in flight at once."""

import threading
from collections.abc import Collection, Iterator, Sequence
from contextvars import copy_context
from typing import Any

from pipeline.enrichment.budget import Budget
from pipeline.enrichment.generator import GenerationFailure, Outcome, Prompt, Question, TokenUsage
from pipeline.enrichment.openai.breaker import Breaker
from pipeline.enrichment.openai.chat import connection
from pipeline.enrichment.openai.direct.client import DirectContext, ServerState
from pipeline.enrichment.openai.direct.session import DirectSession
from pipeline.enrichment.openai.limiter import Limiter
from pipeline.enrichment.openai.requests import RequestBuilder, answer_key
from pipeline.settings import EnrichmentSettings
from router.record import ToolRecord


class DirectGenerator:
    """Asks a chat model about each tool, with as many requests in flight as its limits allow.

    Limits, budget and what was learned of the server last as long as the generator, across all stages of a build.
    """

    name = "openai"
    accepts_siblings = True
    unclaimed = TokenUsage()

    def __init__(
        self, settings: EnrichmentSettings, budget: Budget | None = None, awaited: Collection[str] = ()
    ) -> None:
        """Send nothing yet. Raises SettingsInvalid on a key that cannot be sent.

        `awaited` are the keys of questions in batches that are still to be collected: they are not paid for twice.
        """
        connection(settings)
        self.model = settings.model
        self.requests = RequestBuilder(settings)
        self._settings = settings
        self._awaited = awaited
        self._context = DirectContext(
            settings,
            self.requests,
            Limiter(settings.requests_per_minute, settings.tokens_per_minute),
            budget or Budget(settings.max_cost_usd, settings.max_tools),
            ServerState(Breaker(settings.model)),
        )

    def key(self, record: ToolRecord) -> dict[str, Any]:
        """Return the sampling parameters, packing and languages."""
        return answer_key(self._settings)

    def prompt(self, question: Question) -> Prompt:
        """Return the messages and parameters of a request about this question alone."""
        return self.requests.prompt(question)

    def generate(self, questions: Sequence[Question]) -> Iterator[Sequence[Outcome]]:
        """Yield outcomes as they come, so that none waits uncommitted behind a slow one.

        Raises RunAborted on a bad key, an unknown model, no server at all, or a quota that was spent before the first
        answer. After an interruption come the outcomes of the last group once more, since it may be lost, and those of
        the requests in flight; then it is raised again.
        """
        awaited = [question for question in questions if question.key in self._awaited]
        if awaited:
            message = "submitted in an earlier batch: build with --batch (enrichment.mode) to collect the answer"
            yield [GenerationFailure(question.record.tool_id, "waiting", message) for question in awaited]
        new = [question for question in questions if question.key not in self._awaited]
        if new:
            yield from self._ask(new)

    def _ask(self, questions: Sequence[Question]) -> Iterator[Sequence[Outcome]]:
        """Run a session in a thread of its own. Whoever takes a group commits it before it takes the next."""
        session = DirectSession(self._context, questions)
        thread = threading.Thread(target=copy_context().run, args=(session.run,), name="enrichment", daemon=True)
        try:
            thread.start()
            yield from session.groups()
        except GeneratorExit:  # nobody takes outcomes any more
            raise
        except BaseException:  # a time-out, Ctrl-C: the requests in flight are paid for
            session.stop()
            yield from session.groups()
            raise
        finally:
            session.stop()
        if session.aborted:
            raise session.aborted
