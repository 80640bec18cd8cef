"""A model that cannot be asked: its answers in the ledger serve, and every other question fails."""

from collections.abc import Iterator, Sequence
from typing import Any

from pipeline.enrichment.generator import GenerationFailure, Generator, Outcome, Prompt, Question, TokenUsage
from router.record import ToolRecord


class RecordedAnswers:
    """Stands in for a generator that cannot be asked. Its questions, and so their keys, are the generator's."""

    accepts_siblings = True
    unclaimed = TokenUsage()

    def __init__(self, generator: Generator, kind: str, reason: str) -> None:
        """`kind` and `reason` are those of each failure."""
        self.name = generator.name
        self.model = generator.model
        self.reason = reason
        self._kind = kind
        self._generator = generator

    def key(self, record: ToolRecord) -> dict[str, Any] | None:
        """Return the generator's own key."""
        return self._generator.key(record)

    def prompt(self, question: Question) -> Prompt | None:
        """Return what the generator would ask."""
        return self._generator.prompt(question)

    def generate(self, questions: Sequence[Question]) -> Iterator[Sequence[Outcome]]:
        """Yield a failure for each question: the ledger has no answer to it."""
        yield [GenerationFailure(question.record.tool_id, self._kind, self.reason) for question in questions]


def only_recorded(chain: Sequence[Generator], kind: str, reason: str) -> list[Generator]:
    """Return the generators with the ledger's answers in place of each model."""
    return [
        RecordedAnswers(generator, kind, reason) if generator.accepts_siblings else generator for generator in chain
    ]
