"""Expansions from the lexicon, for tools without an expansion by a model or from a file."""

from collections.abc import Iterator, Sequence
from threading import Event

from pipeline.enrichment.generator import NEVER, GeneratedExpansion, Outcome, Question, TokenUsage, record_key
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

    def question(self, record: ToolRecord, record_hash: str, siblings: Sequence[ToolRecord] = ()) -> Question:
        """Return a question about a record; the model's name in its key holds the lexicon's hash."""
        return Question(record_key(self.name, self.model, record_hash, {}), record)

    def generate(self, questions: Sequence[Question], stop: Event = NEVER) -> Iterator[Sequence[Outcome]]:
        """Yield an answer for every record."""
        yield [
            GeneratedExpansion(question.record.tool_id, lexicon.expand(sanitize(question.record)[0]))
            for question in questions
        ]
