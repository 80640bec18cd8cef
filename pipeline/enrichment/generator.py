"""The protocol of the generators of expansions: questions in, answers and failures out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from router.expansion import Expansion
from router.record import ToolRecord


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """What an answer consumed: tokens as the server counted them, US dollars where the model has a price.

    `cost_usd` is None where the cost is unknown. `unconfirmed_usd` is the estimated cost of requests without an answer:
    a server may bill what it computed for a client that had stopped waiting.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    unconfirmed_usd: float = 0.0

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        """Return the sum of both; its cost is unknown where one of the costs is."""
        known = self.cost_usd is not None and other.cost_usd is not None
        return TokenUsage(
            self.prompt_tokens + other.prompt_tokens,
            self.cached_tokens + other.cached_tokens,
            self.completion_tokens + other.completion_tokens,
            (self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
            self.unconfirmed_usd + other.unconfirmed_usd,
        )


@dataclass(frozen=True, slots=True)
class Question:
    """A record to write an expansion for.

    `key` is that of the answer in the ledger: see `pipeline.enrichment.questions`. `siblings` are records to tell this
    one apart from.
    """

    key: str
    record: ToolRecord
    siblings: tuple[ToolRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked about one tool: the system message, the user's message, and the sampling parameters."""

    instructions: str
    message: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GeneratedExpansion:
    """A generator's answer for one tool. `completion` is the text that a model wrote, for the ledger alone."""

    tool_id: str
    expansion: Expansion
    usage: TokenUsage = field(default_factory=TokenUsage)
    completion: str = field(default="", compare=False)


# Not asked because no key is set.
NO_KEY = "no key"
# Not asked because of a limit or a missing key of the operator's, or asked and not answered yet: no fault of the model.
POSTPONED = frozenset({"budget", "waiting", NO_KEY})
# Not asked because the server has nothing left to give: its quota or limit is spent, or it stopped answering.
UNASKED = "unasked"


@dataclass(frozen=True, slots=True)
class GenerationFailure:
    """Why a generator has no answer for one tool. Other tools go on, and the next build tries this tool again.

    `completion` is the text that a model wrote all the same, for the ledger alone.
    """

    tool_id: str
    kind: str
    message: str
    usage: TokenUsage = field(default_factory=TokenUsage)
    completion: str = field(default="", compare=False)

    @property
    def postponed(self) -> bool:
        """Whether nothing went wrong, and a later build will ask the question or collect its answer."""
        return self.kind in POSTPONED

    @property
    def asked(self) -> bool:
        """Whether the model received the question."""
        return not self.postponed and self.kind != UNASKED


Outcome = GeneratedExpansion | GenerationFailure


class Generator(Protocol):
    """Writes expansions.

    `name` and `model` say who writes. `accepts_siblings` tells whether a question may show siblings. `unclaimed` is the
    usage of answers that were paid for and that no question asks for any more.
    """

    name: str
    model: str
    accepts_siblings: bool
    unclaimed: TokenUsage

    def key(self, record: ToolRecord) -> dict[str, Any] | None:
        """Return what an answer depends on beside the record, its siblings, the prompt and the model.

        None means that the generator has nothing to say about the tool: the next generator is asked.
        """
        ...

    def prompt(self, question: Question) -> Prompt | None:
        """Return what a model is asked; None where no model is asked."""
        ...

    def generate(self, questions: Sequence[Question]) -> Iterator[Sequence[Outcome]]:
        """Yield one outcome for each question, in any order, in groups.

        The caller commits each group before it requests the next, so that a kill loses only what is in flight. An
        interruption that the caller throws in may bring the last group once more. Raises RunAborted where no answer
        can be had.
        """
        ...
