"""The protocol that every generator of expansions keeps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from router.expansion import Expansion
from router.record import ToolRecord


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """What an answer took: tokens as the server counted them, US dollars where the model has a price.

    `unconfirmed_usd` is what requests without an answer may have cost besides, by estimate: a server may bill what it
    computed for a client that had given up waiting.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    unconfirmed_usd: float = 0.0

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        """Both together; a cost that is unknown in part is unknown."""
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
    """A record to write an expansion for. `key` is the hash of all that makes the answer; `siblings` are records that
    it is to be told apart from."""

    key: str
    record: ToolRecord
    siblings: tuple[ToolRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class GeneratedExpansion:
    """A generator's answer for one tool."""

    tool_id: str
    expansion: Expansion
    usage: TokenUsage = field(default_factory=TokenUsage)


# Not asked yet, by a limit that the operator set, or asked and not answered yet: no fault of the model's.
POSTPONED = frozenset({"budget", "waiting"})
# Not asked, since the server had nothing more to give: its quota or its limit was spent, or it stopped answering.
UNASKED = "unasked"


@dataclass(frozen=True, slots=True)
class GenerationFailure:
    """Why a generator has no answer for one tool. The rest go on, and the next build tries this tool again."""

    tool_id: str
    kind: str
    message: str
    usage: TokenUsage = field(default_factory=TokenUsage)

    @property
    def postponed(self) -> bool:
        """Whether a later build will ask, or hear, without anything having gone wrong."""
        return self.kind in POSTPONED

    @property
    def asked(self) -> bool:
        """Whether the model heard the question and this is what came of it."""
        return not self.postponed and self.kind != UNASKED


Outcome = GeneratedExpansion | GenerationFailure


class Generator(Protocol):
    """Writes expansions. `name` and `model` say who wrote; `key` is the rest of what an answer depends on.

    `key(record)` is None where the generator has nothing to say about a tool, and the next generator is asked.
    `accepts_siblings` tells whether it can be shown siblings. `generate` yields one outcome a question, in any order,
    in groups: each group is committed before the next is asked for, so that a kill loses only what was under way. It
    raises RunAborted where no answer can be had. `unclaimed` is what came besides, and was paid for: answers that
    nobody asks for any more.
    """

    name: str
    model: str
    accepts_siblings: bool
    unclaimed: TokenUsage

    def key(self, record: ToolRecord) -> dict[str, Any] | None:
        """What an answer depends on, beside the record, its siblings, the prompt and the model."""
        ...

    def generate(self, questions: Sequence[Question]) -> Iterator[Sequence[Outcome]]:
        """One outcome a question."""
        ...
