"""The bodies of chat requests, sent directly or in a batch, and the estimates of their tokens and cost."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.enrichment.generator import Prompt, Question, TokenUsage
from pipeline.enrichment.openai.answers import OutputMode, schema
from pipeline.enrichment.openai.chat import Completion
from pipeline.enrichment.prompt import INSTRUCTIONS, PACKED, PLAIN_TEXT, packed_question, single_question
from pipeline.settings import EnrichmentSettings
from pipeline.tokens import TokenCounter
from router.fingerprint import fingerprint

_OVERHEAD_TOKENS = 16  # that the chat format adds to two messages
# Of an answer, until the server has counted one. See docs/decisions/0029-estimate-of-enrichment.md.
_OUTPUT_TOKENS = 400
# Parameters of which the ledger keeps the values.
_STORED = frozenset(
    "frequency_penalty languages max_completion_tokens max_tokens presence_penalty reasoning_effort seed stop "
    "temperature tools_per_request top_k top_p verbosity".split()
)


def answer_key(settings: EnrichmentSettings) -> dict[str, Any]:
    """Return what an answer depends on beside record, prompt and model, whether it is asked for directly or in a batch.

    These are the sampling parameters, the packing and the languages.
    """
    key = dict(settings.parameters)
    if settings.tools_per_request > 1:
        key["tools_per_request"] = settings.tools_per_request
    if settings.other_languages:
        key["languages"] = list(settings.other_languages)
    return key


def _without_secrets(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with hashes in place of what is no sampling parameter: some servers take a key in the body."""
    return {name: value if name in _STORED else f"sha256:{fingerprint(value)}" for name, value in parameters.items()}


class RequestBuilder:
    """Builds request bodies, and corrects its estimates by the server's counts. A build uses one throughout."""

    def __init__(self, settings: EnrichmentSettings) -> None:
        self._settings = settings
        self._counter: TokenCounter | None = None
        self._prefix = 0
        self._prompt_ratio = 1.0
        self._mean_output = float(_OUTPUT_TOKENS)
        self._output_bound = 2.0 * _OUTPUT_TOKENS
        self._answered = False

    def body(self, questions: Sequence[Question], output_mode: OutputMode) -> dict[str, Any]:
        """Return the JSON of a chat request about one question, or about several that have no siblings."""
        settings = self._settings
        packed = len(questions) > 1
        languages = settings.other_languages
        instructions = INSTRUCTIONS + (PACKED if packed else "")
        body: dict[str, Any] = {"model": settings.model}
        if output_mode is OutputMode.JSON_SCHEMA:
            json_schema = {"name": "expansion", "strict": True, "schema": schema(languages, packed)}
            body["response_format"] = {"type": "json_schema", "json_schema": json_schema}
        else:
            instructions += PLAIN_TEXT
            if output_mode is OutputMode.JSON_OBJECT:
                body["response_format"] = {"type": "json_object"}
        body["messages"] = [
            {"role": "system", "content": instructions},
            {"role": "user", "content": self._message(questions)},
        ]
        return {**body, **settings.parameters}

    def prompt(self, question: Question) -> Prompt:
        """Return the messages about one question, and the parameters that its answer depends on, fit to be stored."""
        return Prompt(INSTRUCTIONS, self._message([question]), _without_secrets(answer_key(self._settings)))

    def _message(self, questions: Sequence[Question]) -> str:
        languages = self._settings.other_languages
        if len(questions) > 1:
            return packed_question([question.record for question in questions], languages)
        return single_question(questions[0].record, questions[0].siblings, languages)

    @property
    def counter(self) -> TokenCounter:
        """The model's token counter: exact where tiktoken's file is at hand, else an estimate."""
        if self._counter is None:
            self._counter = TokenCounter.of_model(self._settings.model)
            self._prefix = self._counter.length(INSTRUCTIONS) + _OVERHEAD_TOKENS
        return self._counter

    def prompt_tokens(self, questions: Sequence[Question]) -> int:
        """Return the estimated tokens of a request, corrected by the server's counts so far."""
        length = self.counter.length(self._message(questions))
        return round((self._prefix + length) * self._prompt_ratio)

    def output_tokens(self, tools: int = 1) -> int:
        """Return the expected tokens of an answer about so many tools: the moving mean of this build's answers."""
        return round(self._mean_output * tools)

    def total_tokens(self, questions: Sequence[Question]) -> int:
        """Return the expected tokens of a request and its answer together."""
        return self.prompt_tokens(questions) + self.output_tokens(len(questions))

    def assume_output(self, output_tokens: float) -> None:
        """Set the tokens of an answer by earlier builds, until this one has an answer."""
        if not self._answered:
            self._mean_output, self._output_bound = output_tokens, max(self._output_bound, 2 * output_tokens)

    def learn(self, estimated: int, completion: Completion, tools: int) -> None:
        """Correct the estimates by the server's counts. `estimated` is the estimate of the prompt's tokens."""
        if not completion.prompt_tokens or completion.completion_tokens is None:
            return
        each = completion.completion_tokens / tools
        self._prompt_ratio += 0.1 * self._prompt_ratio * (completion.prompt_tokens / max(estimated, 1) - 1)
        self._mean_output = self._mean_output + 0.1 * (each - self._mean_output) if self._answered else each
        self._output_bound = max(self._output_bound, 1.5 * each)
        self._answered = True

    def cost(self, prompt: int, cached: int, completion: int, batch: bool = False) -> float | None:
        """Return the cost of so many tokens in US dollars; None where the settings have no price of the model."""
        price = self._settings.prices.get(self._settings.model)
        if price is None:
            return None
        full = ((prompt - cached) * price.input + cached * price.cached + completion * price.output) / 1e6
        return full * price.batch if batch else full

    def highest_cost(self, questions: Sequence[Question], batch: bool = False) -> float:
        """Return the US dollars to reserve for a request; 0 where the model has no price.

        Nothing is assumed to be cached. The answer is assumed to be as long as the parameters allow; where they set no
        bound, half as long again as the longest so far.
        """
        caps = (self._settings.parameters.get(name) for name in ("max_completion_tokens", "max_tokens"))
        cap = next((cap for cap in caps if isinstance(cap, int)), None)
        output = round(self._output_bound * len(questions)) if cap is None else cap
        return self.cost(self.prompt_tokens(questions), 0, output, batch) or 0.0

    def usage(self, completion: Completion, batch: bool = False) -> TokenUsage:
        """Return the usage of a completion; its cost is None where the server did not count."""
        if completion.prompt_tokens is None or completion.completion_tokens is None:
            return TokenUsage(cost_usd=None)
        counts = completion.prompt_tokens, completion.cached_tokens, completion.completion_tokens
        return TokenUsage(*counts, self.cost(*counts, batch=batch))
