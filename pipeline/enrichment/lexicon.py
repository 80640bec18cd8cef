"""Expansions from the lexicon, for tools without an expansion by a model or from a file."""

from collections.abc import Iterator, Sequence
from typing import Any

from pipeline.enrichment.generator import GeneratedExpansion, Outcome, Question, TokenUsage
from router.record import ToolRecord
from router.tools import lexicon
from router.tools.trust import sanitize


class LexiconGenerator:
    """Writes phrases from a tool's operation (verb) and resource (nouns), in several everyday wordings."""

    name = "lexicon"
    accepts_siblings = False
    unclaimed = TokenUsage()

    def __init__(self) -> None:
        self.model = f"lexicon-{lexicon.lexicon_version()}"

    def key(self, record: ToolRecord) -> dict[str, Any]:
        """Return no further dependency: the model's name holds the lexicon's hash."""
        return {}

    def prompt(self, question: Question) -> None:
        """Return None: no model is asked."""

    def generate(self, questions: Sequence[Question]) -> Iterator[Sequence[Outcome]]:
        """Yield an answer for every record."""
        yield [
            GeneratedExpansion(question.record.tool_id, lexicon.expand(sanitize(question.record)[0]))
            for question in questions
        ]
