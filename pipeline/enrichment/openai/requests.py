"""What is sent: the body of a chat request, the same one by one and in a batch, and what it is estimated to take."""

from collections.abc import Sequence
from typing import Any

from pipeline.enrichment.generator import Question, TokenUsage
from pipeline.enrichment.openai.answers import schema
from pipeline.enrichment.openai.client import Completion
from pipeline.enrichment.prompt import INSTRUCTIONS, PACKED, PLAIN_TEXT, packed_question, question
from pipeline.settings import EnrichmentSettings
from pipeline.tokens import TokenCounter

# Compatible servers take these to different degrees: the ladder of structured output, surest first.
RUNGS = ("json_schema", "json_object", "text")
_OVERHEAD = 16  # tokens that a chat's form adds to two messages
# An expansion takes 200 tokens as JSON (mean of the demo catalog's 203; the longest 262); a small model that reasons
# before it answers takes about as many again. Settled by the server's count from the first answer on.
_OUTPUT_TOKENS = 400


class Requests:
    """Makes the bodies, and learns from the server's counts what they take. One a build: what it learns lasts."""

    def __init__(self, settings: EnrichmentSettings) -> None:
        self._settings = settings
        self._counter: TokenCounter | None = None
        self._prefix = 0
        self._prompt_ratio = 1.0
        self._output = float(_OUTPUT_TOKENS)
        self._most_output = 2.0 * _OUTPUT_TOKENS
        self._answered = False

    def body(self, questions: Sequence[Question], rung: int) -> dict[str, Any]:
        """The JSON of a chat request about one question, or about several without siblings."""
        settings = self._settings
        packed = len(questions) > 1
        languages = settings.other_languages
        instructions = INSTRUCTIONS + (PACKED if packed else "")
        body: dict[str, Any] = {"model": settings.model}
        if RUNGS[rung] == "json_schema":
            wanted = {"name": "expansion", "strict": True, "schema": schema(languages, packed)}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        else:
            instructions += PLAIN_TEXT
            if RUNGS[rung] == "json_object":
                body["response_format"] = {"type": "json_object"}
        body["messages"] = [
            {"role": "system", "content": instructions},
            {"role": "user", "content": self._message(questions)},
        ]
        return {**body, **settings.parameters}

    def _message(self, questions: Sequence[Question]) -> str:
        languages = self._settings.other_languages
        if len(questions) > 1:
            return packed_question([q.record for q in questions], languages)
        return question(questions[0].record, questions[0].siblings, languages)

    @property
    def counter(self) -> TokenCounter:
        """Counts as the model does, where tiktoken's file is at hand."""
        if self._counter is None:
            self._counter = TokenCounter.of_model(self._settings.model)
            self._prefix = self._counter.length(INSTRUCTIONS) + _OVERHEAD
        return self._counter

    def prompt_tokens(self, questions: Sequence[Question]) -> int:
        """Tokens of a request, as the server has counted so far."""
        length = self.counter.length(self._message(questions))
        return round((self._prefix + length) * self._prompt_ratio)

    def output_tokens(self, tools: int = 1) -> int:
        """Tokens that an answer is expected to take: the mean of this build's answers."""
        return round(self._output * tools)

    def tokens(self, questions: Sequence[Question]) -> int:
        """Tokens that a request and its answer are expected to take."""
        return self.prompt_tokens(questions) + self.output_tokens(len(questions))

    def assume(self, output_tokens: float) -> None:
        """What answers took in earlier builds, until this one has some."""
        if not self._answered:
            self._output, self._most_output = output_tokens, max(self._most_output, 2 * output_tokens)

    def learn(self, estimated: int, completion: Completion, tools: int) -> None:
        """Correct the estimates by what the server counted."""
        if not completion.prompt_tokens or completion.completion_tokens is None:
            return
        each = completion.completion_tokens / tools
        self._prompt_ratio += 0.1 * self._prompt_ratio * (completion.prompt_tokens / max(estimated, 1) - 1)
        self._output = self._output + 0.1 * (each - self._output) if self._answered else each
        self._most_output = max(self._most_output, 1.5 * each)
        self._answered = True

    def cost(self, prompt: int, cached: int, completion: int, batch: bool = False) -> float | None:
        """US dollars; None where the model has no price in settings."""
        price = self._settings.prices.get(self._settings.model)
        if price is None:
            return None
        full = ((prompt - cached) * price.input + cached * price.cached + completion * price.output) / 1e6
        return full * price.batch if batch else full

    def bound(self, questions: Sequence[Question], batch: bool = False) -> float:
        """US dollars to set aside for a request: nothing cached, and as long an answer as the parameters allow; where
        they set no bound, as any so far, and half as long again. 0 where the model has no price."""
        caps = (self._settings.parameters.get(name) for name in ("max_completion_tokens", "max_tokens"))
        cap = next((cap for cap in caps if isinstance(cap, int)), None)
        output = round(self._most_output * len(questions)) if cap is None else cap
        return self.cost(self.prompt_tokens(questions), 0, output, batch) or 0.0

    def usage(self, completion: Completion, batch: bool = False) -> TokenUsage:
        """What a completion took; its cost is unknown where the server did not count."""
        if completion.prompt_tokens is None or completion.completion_tokens is None:
            return TokenUsage(cost_usd=None)
        counts = completion.prompt_tokens, completion.cached_tokens, completion.completion_tokens
        return TokenUsage(*counts, self.cost(*counts, batch=batch))
