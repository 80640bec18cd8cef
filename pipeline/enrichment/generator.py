"""The protocol that every generator of expansions keeps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pipeline.enrichment.expansion import Expansion
from router.record import ToolRecord


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer took: tokens as the server counted them, US dollars where the model has a price."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        """Both together; a cost that is unknown in part is unknown."""
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.cached_tokens + other.cached_tokens,
            self.completion_tokens + other.completion_tokens,
            (self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """A generator's answer for one tool."""

    tool_id: str
    expansion: Expansion
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a generator has no answer for one tool. The rest go on, and the next build tries this tool again."""

    tool_id: str
    kind: str
    message: str
    usage: Usage = field(default_factory=Usage)


class Generator(Protocol):
    """Writes expansions. `name` and `model` say who wrote; `key` is the rest of what an answer depends on.

    `key(record)` is None where the generator has nothing to say about a tool, and the next generator is asked.
    `commit_every` is how many outcomes may be lost by a kill: 1 where each was paid for.
    `generate` yields one Answer or Failure a record, in any order, and raises RunAborted where none can be had.
    """

    name: str
    model: str
    commit_every: int

    def key(self, record: ToolRecord) -> dict[str, Any] | None:
        """What an answer depends on, beside the record, the prompt and the model."""
        ...

    def generate(self, records: Sequence[ToolRecord]) -> Iterator[Answer | Failure]:
        """One outcome a record."""
        ...
