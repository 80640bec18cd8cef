"""Expansions from the lexicon, for tools that no model and no file wrote for."""

from collections.abc import Iterator, Sequence
from typing import Any

from pipeline.enrichment.generator import GeneratedExpansion, Outcome, Question, TokenUsage
from router.record import ToolRecord
from router.tools import lexicon
from router.tools.trust import trusted


class LexiconGenerator:
    """Phrases from a tool's operation (verb) and resource (nouns), each said in several everyday ways."""

    name = "lexicon"
    accepts_siblings = False
    unclaimed = TokenUsage()

    def __init__(self) -> None:
        self.model = f"lexicon-{lexicon.lexicon_version()}"

    def key(self, record: ToolRecord) -> dict[str, Any]:
        """Nothing beyond the record and the lexicon's own hash."""
        return {}

    def generate(self, questions: Sequence[Question]) -> Iterator[Sequence[Outcome]]:
        """An answer for every record."""
        yield [GeneratedExpansion(q.record.tool_id, lexicon.expand(trusted(q.record)[0])) for q in questions]
