"""A tool as the assessment sees it."""

from dataclasses import dataclass

from router.expansion import Expansion
from router.record import ToolRecord
from router.tools.field_text import project
from router.tools.text_overlap import own_terms, says_own
from router.tools.trust import trusted


@dataclass(frozen=True, slots=True)
class AssessedTool:
    """A tool: its record as the one text that is embedded for it, and what was written for it.

    `content` is what the tool is, whoever offers it: tools of equal content are the same tool of several servers, and
    their phrases are meant to fit each other. `own` are the terms of its name and first sentence: a phrase that says
    nothing else is the tool's own, wherever vectors put it.
    """

    tool_id: str
    text: str
    content: str
    user_phrases: tuple[str, ...] = ()
    when_to_use: str = ""
    own: frozenset[str] = frozenset()

    @classmethod
    def of(cls, record: ToolRecord, expansion: Expansion | None) -> "Subject":
        """The subject of a record; without expansion it has no phrase, and other tools' phrases are held against it."""
        text = project(record, None).dense
        content = f"{record.name}\n{record.description}"
        if expansion is None:
            return cls(record.tool_id, text, content)
        own = own_terms(trusted(record)[0])
        return cls(record.tool_id, text, content, expansion.user_phrases, expansion.when_to_use, own)

    @property
    def phrases(self) -> tuple[str, ...]:
        """The texts that are judged, each once: those that have a vector in the index too."""
        return tuple(dict.fromkeys(phrase for phrase in (*self.user_phrases, self.when_to_use) if phrase))

    @property
    def own_phrases(self) -> tuple[bool, ...]:
        """Which of the phrases say what the record's own name and first sentence say."""
        return tuple(says_own(phrase, self.own) for phrase in self.phrases)

    def fields(self, phrase: str) -> list[str]:
        """The fields of the expansion that hold a phrase: one, or both."""
        held = {"user_phrases": phrase in self.user_phrases, "when_to_use": phrase == self.when_to_use}
        return [name for name, holds in held.items() if holds]
