"""A model that cannot be asked: its answers in the ledger serve, and every other question fails."""

from collections.abc import Iterator, Sequence
from threading import Event

from pipeline.enrichment.generator import NEVER, GenerationFailure, Generator, Outcome, Question, TokenUsage
from router.record import ToolRecord


class LedgerOnly:
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

    def question(self, record: ToolRecord, record_hash: str, siblings: Sequence[ToolRecord] = ()) -> Question | None:
        """Return what the generator would ask."""
        return self._generator.question(record, record_hash, siblings)

    def generate(self, questions: Sequence[Question], stop: Event = NEVER) -> Iterator[Sequence[Outcome]]:
        """Yield a failure for each question: the ledger has no answer to it."""
        yield [GenerationFailure(question.record.tool_id, self._kind, self.reason) for question in questions]


def ledger_only(chain: Sequence[Generator], kind: str, reason: str) -> list[Generator]:
    """Return the generators with the ledger's answers in place of each model."""
    return [LedgerOnly(generator, kind, reason) if generator.accepts_siblings else generator for generator in chain]
