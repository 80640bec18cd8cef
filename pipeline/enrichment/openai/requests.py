"""Questions to a chat model, asked directly or in a batch: their requests, and the bounds of their cost."""

from collections.abc import Sequence
from typing import Any

from pipeline.enrichment.budget import Budget
from pipeline.enrichment.generator import Prompt, Question, TokenUsage, answer_key
from pipeline.enrichment.openai.answers import OutputMode, schema
from pipeline.enrichment.openai.breaker import Breaker
from pipeline.enrichment.openai.chat import Completion, connection
from pipeline.enrichment.prompt import INSTRUCTIONS, PLAIN_TEXT, message
from pipeline.settings import EnrichmentSettings
from pipeline.tokens import TokenCounter
from router.fingerprint import fingerprint
from router.record import ToolRecord

_OVERHEAD_TOKENS = 16  # that the chat format adds to two messages
# Of an answer, until the server has counted one. See docs/decisions/model-requests.md.
OUTPUT_TOKENS = 400
_FIRST_LONGEST = 2.0 * OUTPUT_TOKENS
# Parameters of which the ledger keeps the values.
_STORED = frozenset(
    "frequency_penalty languages max_completion_tokens max_tokens presence_penalty reasoning_effort seed stop "
    "temperature top_k top_p verbosity".split()
)


class RequestBuilder:
    """Builds questions and request bodies, and bounds what they cost by the server's counts. A build uses one."""

    def __init__(self, settings: EnrichmentSettings) -> None:
        self._settings = settings
        self._counter: TokenCounter | None = None
        self._prefix = 0
        self._prompt_ratio = 1.0  # of the server's count to the estimate, at most so far
        self._longest_output = _FIRST_LONGEST

    def question(self, name: str, record: ToolRecord, siblings: Sequence[ToolRecord]) -> Question:
        """Return the question of a generator of this name about a record, under the key of its answer.

        The answer depends on the sampling parameters too, whether it is asked for directly or in a batch. In place of
        those that are no sampling parameters stands their hash: some servers take a key in the body.
        """
        languages = self._settings.other_languages
        given = {**self._settings.parameters, **({"languages": list(languages)} if languages else {})}
        parameters = {key: value if key in _STORED else f"sha256:{fingerprint(value)}" for key, value in given.items()}
        prompt = Prompt(INSTRUCTIONS, message(record, siblings, languages), parameters)
        return Question(answer_key(name, self._settings.model, prompt), record, prompt)

    def body(self, question: Question, output_mode: OutputMode) -> dict[str, Any]:
        """Return the JSON of a chat request."""
        instructions = question.prompt.instructions
        body: dict[str, Any] = {"model": self._settings.model}
        if output_mode is OutputMode.JSON_SCHEMA:
            json_schema = {"name": "expansion", "strict": True, "schema": schema(self._settings.other_languages)}
            body["response_format"] = {"type": "json_schema", "json_schema": json_schema}
        else:
            instructions += PLAIN_TEXT
            if output_mode is OutputMode.JSON_OBJECT:
                body["response_format"] = {"type": "json_object"}
        body["messages"] = [
            {"role": "system", "content": instructions},
            {"role": "user", "content": question.prompt.message},
        ]
        return {**body, **self._settings.parameters}

    @property
    def counter(self) -> TokenCounter:
        """The model's token counter: exact where tiktoken's file is at hand, else an estimate."""
        if self._counter is None:
            self._counter = TokenCounter.of_model(self._settings.model)
            self._prefix = self._counter.length(INSTRUCTIONS) + _OVERHEAD_TOKENS
        return self._counter

    def prompt_tokens(self, question: Question) -> int:
        """Return the estimated tokens of a request."""
        length = self.counter.length(question.prompt.message)
        return round((self._prefix + length) * self._prompt_ratio)

    def learn(self, question: Question, completion: Completion) -> None:
        """Raise the estimates to the server's counts."""
        if completion.prompt_tokens and completion.completion_tokens is not None:
            self._prompt_ratio *= max(1.0, completion.prompt_tokens / self.prompt_tokens(question))
            self._longest_output = max(self._longest_output, 1.5 * completion.completion_tokens)

    def cost(self, prompt: int, cached: int, completion: int, batch: bool = False) -> float | None:
        """Return the cost of so many tokens in US dollars; None where the settings have no price of the model."""
        price = self._settings.prices.get(self._settings.model)
        if price is None:
            return None
        full = ((prompt - cached) * price.input + cached * price.cached + completion * price.output) / 1e6
        return full * price.batch if batch else full

    def highest_cost(self, question: Question, batch: bool = False) -> float:
        """Return the US dollars to reserve for a request; 0 where the model has no price.

        Nothing is assumed to be cached. The answer is assumed to be as long as the parameters allow; where they set no
        bound, half as long again as the longest so far.
        """
        caps = (self._settings.parameters.get(name) for name in ("max_completion_tokens", "max_tokens"))
        cap = next((cap for cap in caps if isinstance(cap, int)), None)
        output = round(self._longest_output) if cap is None else cap
        return self.cost(self.prompt_tokens(question), 0, output, batch) or 0.0

    def usage(self, completion: Completion, batch: bool = False) -> TokenUsage:
        """Return the usage of a completion; its cost is None where the server did not count."""
        if completion.prompt_tokens is None or completion.completion_tokens is None:
            return TokenUsage(cost_usd=None)
        counts = completion.prompt_tokens, completion.cached_tokens, completion.completion_tokens
        return TokenUsage(*counts, self.cost(*counts, batch=batch))


class ModelGenerator:
    """What the two ways to ask a chat model share. All of it lasts as long as the generator, across a build's stages.

    `output_mode` is the first mode in the fallback order that the server has not refused.
    """

    name = "openai"
    accepts_siblings = True

    def __init__(self, settings: EnrichmentSettings, budget: Budget | None = None) -> None:
        """Send nothing yet. Raises SettingsInvalid on a key that cannot be sent."""
        connection(settings)
        self.model = settings.model
        self.settings = settings
        self.unclaimed = TokenUsage()
        self.requests = RequestBuilder(settings)
        self.budget = budget or Budget(settings.max_cost_usd, settings.max_tools)
        self.breaker = Breaker(settings.model)
        self.output_mode = OutputMode.JSON_SCHEMA

    def question(self, record: ToolRecord, record_hash: str, siblings: Sequence[ToolRecord] = ()) -> Question:
        """Return the question about a record, under the key of all that the model is shown, in whatever way."""
        return self.requests.question(self.name, record, siblings)
