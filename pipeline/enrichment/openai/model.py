"""What the two ways to ask a chat model share: questions, request bodies, costs, and when to ask no more."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from pipeline.enrichment.generator import (
    UNUSABLE,
    GeneratedExpansion,
    Outcome,
    Prompt,
    Question,
    TokenUsage,
    answer_key,
)
from pipeline.enrichment.openai.answers import OutputMode, schema
from pipeline.enrichment.openai.chat import Completion, connection
from pipeline.enrichment.prompt import INSTRUCTIONS, PLAIN_TEXT, message
from pipeline.settings import EnrichmentSettings
from pipeline.tokens import TokenCounter
from router.fingerprint import fingerprint
from router.record import ToolRecord
from router.tools.naming import route_forms

# Of an answer, until the server has counted one. See docs/decisions/model-requests.md.
OUTPUT_TOKENS = 400
ADDED_TOKENS = 100  # of one in a language more
_OVERHEAD_TOKENS = 16  # that the chat format adds to two messages
# A model that fails on half of its tools gets so many in a row once in 6,000 builds of 10,000 tools; one that fails on
# 30 %, never. See docs/decisions/model-requests.md.
MAX_UNUSABLE = 25
CHECK_MODEL = "Check enrichment.model and enrichment.parameters, or build with --generator none"
# Parameters of which the ledger keeps the values.
_STORED = frozenset(
    "frequency_penalty languages max_completion_tokens max_tokens presence_penalty reasoning_effort seed stop "
    "temperature top_k top_p verbosity".split()
)


class Budget:
    """Limits on what a build spends on a model, and on the tools it asks about. None means unlimited.

    Money is reserved before a request is sent and settled when it is answered, so that the requests in flight together
    never exceed the limit.
    """

    def __init__(self, max_cost_usd: float | None = None, max_tools: int | None = None) -> None:
        self.max_cost_usd = max_cost_usd
        self.max_tools = max_tools
        self._spent_usd = 0.0
        self._reserved_usd = 0.0
        self._tools_asked = 0

    def reserve(self, cost_usd: float, *, new_tool: bool = True) -> bool:
        """Reserve the highest cost of a request. Return whether it fits, and with `new_tool` one more tool does."""
        used_usd = self._spent_usd + self._reserved_usd + cost_usd
        if (new_tool and self._has_asked_all) or (self.max_cost_usd is not None and used_usd > self.max_cost_usd):
            return False
        self._reserved_usd += cost_usd
        self._tools_asked += new_tool
        return True

    def settle(self, reserved_usd: float, cost_usd: float | None) -> None:
        """Release what was reserved and count the cost; None, where it is unknown, counts all that was reserved."""
        self._reserved_usd -= reserved_usd
        self._spent_usd += reserved_usd if cost_usd is None else cost_usd

    def reason(self) -> str:
        """Return a sentence that says why a request was not sent."""
        if self._has_asked_all:
            limit = f"enrichment.max_tools (--max-tools) is {self.max_tools:,}"
            return f"not asked: {self._tools_asked:,} other tools were, and {limit}"
        return (
            f"not asked: ${self._spent_usd:.4f} is spent, and one more question might exceed "
            f"enrichment.max_cost_usd (--max-cost), ${self.max_cost_usd or 0:g}"
        )

    @property
    def _has_asked_all(self) -> bool:
        return self.max_tools is not None and self._tools_asked >= self.max_tools


class ModelGenerator:
    """A chat model. What it learns lasts as long as it does, across a build's stages.

    `output_mode` is the first mode in the fallback order that the server has not refused. `proven` says that an answer
    could be used; `given_up` why to ask no more, empty while questions may be asked.
    """

    name = "openai"
    accepts_siblings = True
    unclaimed = TokenUsage()

    def __init__(self, settings: EnrichmentSettings) -> None:
        """Send nothing yet. Raises SettingsInvalid on a key that cannot be sent."""
        connection(settings)
        self.model = settings.model
        self.settings = settings
        self.budget = Budget(settings.max_cost_usd, settings.max_tools)
        self.output_mode = OutputMode.JSON_SCHEMA
        self.proven = False
        self.given_up = ""
        self._unusable_in_a_row = 0
        self._prompt_ratio = 1.0  # of the server's count to the estimate, at most so far
        self._longest_output = 2.0 * OUTPUT_TOKENS
        self._questions: dict[tuple[str, ...], Question] = {}

    def question(self, record: ToolRecord, record_hash: str, siblings: Sequence[ToolRecord] = ()) -> Question:
        """Return the question about a record, under the key of all that the model is shown; rendered once a build.

        Parameters other than those of sampling are hashed: some servers take a key in the body.
        """
        asked = (record.tool_id, record_hash, *(sibling.tool_id for sibling in siblings))
        if (known := self._questions.get(asked)) is not None:
            return known
        languages = self.settings.other_languages
        given = {**self.settings.parameters, **({"languages": list(languages)} if languages else {})}
        parameters = {key: value if key in _STORED else f"sha256:{fingerprint(value)}" for key, value in given.items()}
        prompt = Prompt(INSTRUCTIONS, message(record, siblings, languages), parameters)
        former = tuple(
            Prompt(INSTRUCTIONS, message(one, others, languages), parameters)
            for one, *others in zip(*map(route_forms, (record, *siblings)), strict=True)
            if [one, *others] != [record, *siblings]
        )
        question = Question(answer_key(self.name, self.model, prompt), record, prompt, former)
        return self._questions.setdefault(asked, question)

    def body(self, question: Question, output_mode: OutputMode) -> dict[str, Any]:
        """Return the JSON of a chat request."""
        instructions = question.prompt.instructions
        body: dict[str, Any] = {"model": self.model}
        if output_mode is OutputMode.JSON_SCHEMA:
            form = schema(question.added or self.settings.other_languages, rest_known=question.known is not None)
            json_schema = {"name": "expansion", "strict": True, "schema": form}
            body["response_format"] = {"type": "json_schema", "json_schema": json_schema}
        else:
            instructions += PLAIN_TEXT
            if output_mode is OutputMode.JSON_OBJECT:
                body["response_format"] = {"type": "json_object"}
        body["messages"] = [
            {"role": "system", "content": instructions},
            {"role": "user", "content": question.prompt.message},
        ]
        return {**body, **self.settings.parameters}

    @cached_property
    def counter(self) -> TokenCounter:
        """The model's token counter: exact where tiktoken's file can be had, else an estimate."""
        return TokenCounter.of_model(self.model)

    @cached_property
    def _prefix_tokens(self) -> int:
        return self.counter.length(INSTRUCTIONS) + _OVERHEAD_TOKENS

    def prompt_tokens(self, question: Question) -> int:
        """Return the estimated tokens of a request."""
        return round((self._prefix_tokens + self.counter.length(question.prompt.message)) * self._prompt_ratio)

    def cost(self, prompt: int, cached: int, completion: int, *, batch: bool = False) -> float | None:
        """Return the cost of so many tokens in US dollars; None where the settings have no price of the model."""
        price = self.settings.prices.get(self.model)
        if price is None:
            return None
        full = ((prompt - cached) * price.input + cached * price.cached + completion * price.output) / 1e6
        return full * price.batch if batch else full

    def highest_cost(self, question: Question, *, batch: bool = False) -> float:
        """Return the US dollars to reserve for a request; 0 where the model has no price.

        Nothing is assumed to be cached, and the answer to be as long as the parameters allow; where they set no bound,
        half as long again as the longest so far.
        """
        caps = (self.settings.parameters.get(name) for name in ("max_completion_tokens", "max_tokens"))
        output = next((cap for cap in caps if isinstance(cap, int)), round(self._longest_output))
        return self.cost(self.prompt_tokens(question), 0, output, batch=batch) or 0.0

    def usage(self, completion: Completion, question: Question, *, batch: bool = False) -> TokenUsage:
        """Return the usage of a completion with its cost, None where the server did not count; learn from it."""
        usage = completion.usage
        if usage is None:
            return TokenUsage(cost_usd=None)
        if usage.prompt_tokens and question.prompt.message:
            self._prompt_ratio *= max(1.0, usage.prompt_tokens / self.prompt_tokens(question))
            self._longest_output = max(self._longest_output, 1.5 * usage.completion_tokens)
        counts = usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens
        return TokenUsage(*counts, self.cost(*counts, batch=batch))

    def count(self, outcome: Outcome) -> None:
        """Count answers in a row that cannot be used, and give up after 25. A time-out is not an answer."""
        if isinstance(outcome, GeneratedExpansion):
            self.proven, self._unusable_in_a_row = True, 0
        elif outcome.kind in UNUSABLE:
            self._unusable_in_a_row += 1
            if self._unusable_in_a_row == MAX_UNUSABLE:
                last = "".join(letter if letter.isprintable() else " " for letter in outcome.message[:200]).strip()
                self.given_up = (
                    f"not asked: {MAX_UNUSABLE} answers of {self.model!r} in a row could not be used, the last because "
                    f"{last} ({outcome.kind}). {CHECK_MODEL}"
                )
