"""Hold a tool's texts as the assessment sees them."""

from dataclasses import dataclass

from router.expansion import Expansion
from router.record import ToolRecord
from router.tools.field_text import project_record
from router.tools.foreign_text import foreign_script
from router.tools.text_overlap import identifying_terms, uses_only_terms
from router.tools.trust import sanitize


@dataclass(frozen=True, slots=True)
class AssessedTool:
    """A tool: its record as the one text that is embedded for it, and the phrases written for it.

    Tools of equal `content` are the same tool, offered by several servers: their phrases may fit each other. `own` are
    the terms of its name and first sentence: a phrase that has no other terms belongs to the tool in any case.
    `non_english` is true where the description is not English: the record's vector then says little of English phrases.
    """

    tool_id: str
    text: str
    content: str
    user_phrases: tuple[str, ...] = ()
    when_to_use: str = ""
    own: frozenset[str] = frozenset()
    non_english: bool = False

    @classmethod
    def of(cls, record: ToolRecord, expansion: Expansion | None) -> "AssessedTool":
        """Return the tool of a record. Without expansion it has no phrases; others' are still compared with it."""
        text = project_record(record, None).dense
        content = f"{record.name}\n{record.description}"
        if expansion is None:
            return cls(record.tool_id, text, content)
        own = identifying_terms(sanitize(record)[0])
        non_english = bool(foreign_script(record.description))
        return cls(record.tool_id, text, content, expansion.user_phrases, expansion.when_to_use, own, non_english)

    @property
    def phrases(self) -> tuple[str, ...]:
        """The phrases that are judged, each once. The index has a vector for each of them."""
        return tuple(dict.fromkeys(phrase for phrase in (*self.user_phrases, self.when_to_use) if phrase))

    @property
    def own_phrases(self) -> tuple[bool, ...]:
        """For each phrase, whether it cannot be held against the record.

        It has only terms of the record's own name and first sentence, or the record is in another language.
        """
        return tuple(self.non_english or uses_only_terms(phrase, self.own) for phrase in self.phrases)

    def fields(self, phrase: str) -> list[str]:
        """Return the fields of the expansion that have a phrase: one, or both."""
        by_field = {"user_phrases": phrase in self.user_phrases, "when_to_use": phrase == self.when_to_use}
        return [name for name, present in by_field.items() if present]
