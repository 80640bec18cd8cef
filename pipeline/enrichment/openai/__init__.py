"""An OpenAI-compatible model: OpenAI itself, vLLM, Ollama, llama.cpp, any base URL."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from pipeline.enrichment.budget import Budget
from pipeline.enrichment.generator import GenerationFailure, Outcome, Question, TokenUsage
from pipeline.enrichment.openai.asking import Asking
from pipeline.enrichment.openai.client import connection
from pipeline.enrichment.openai.limits import Limiter
from pipeline.enrichment.openai.requests import Requests
from pipeline.settings import EnrichmentSettings
from router.record import ToolRecord

__all__ = ["DirectGenerator", "answer_key"]


class DirectGenerator:
    """Asks a chat model for each tool, as many at once as its limits allow; retries, then reports a failure.

    Limits, budget and what was learned of the server last as long as the generator: a build's stages share one.
    """

    name = "openai"
    accepts_siblings = True
    unclaimed = TokenUsage()

    def __init__(
        self, settings: EnrichmentSettings, budget: Budget | None = None, awaited: Collection[str] = ()
    ) -> None:
        """Nothing is sent before the first question. `awaited` are the keys of questions in batches that are still to
        be collected: they are not paid for twice. Raises SettingsInvalid on a key that cannot be sent."""
        connection(settings)
        self.model = settings.model
        self.requests = Requests(settings)
        self._settings = settings
        self._awaited = awaited
        self._asking = Asking(
            settings,
            self.requests,
            Limiter(settings.requests_per_minute, settings.tokens_per_minute),
            budget or Budget(settings.max_cost_usd, settings.max_tools),
        )

    def key(self, record: ToolRecord) -> dict[str, Any]:
        """The sampling parameters, packing and languages; the model and the prompt's version are in the key already."""
        return answer_key(self._settings)

    def generate(self, questions: Sequence[Question]) -> Iterator[Sequence[Outcome]]:
        """Answers as they come, so that none waits, unkept, behind a slow one.

        Raises RunAborted on a bad key, an unknown model, no server at all, or a quota that was spent before the first
        answer; and whatever interrupts it, after the answers to what was under way.
        """
        waiting = [question for question in questions if question.key in self._awaited]
        if waiting:
            said = "submitted in an earlier batch: build with --batch (enrichment.mode) to collect the answer"
            yield [GenerationFailure(question.record.tool_id, "waiting", said) for question in waiting]
        left = [question for question in questions if question.key not in self._awaited]
        if left:
            yield from self._asking.ask(left)


def answer_key(settings: EnrichmentSettings) -> dict[str, Any]:
    """What an answer depends on beside record, prompt and model: the same asked one by one or in a batch."""
    key = dict(settings.parameters)
    if settings.tools_per_request > 1:
        key["tools_per_request"] = settings.tools_per_request
    if settings.other_languages:
        key["languages"] = list(settings.other_languages)
    return key
