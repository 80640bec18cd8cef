"""Collect what a check of one text may know: the record, what it lets be said, and the text."""

from dataclasses import dataclass

from pipeline.phrase_checks.record import operations
from pipeline.phrase_checks.record.names import Name, Names
from router.record import ToolRecord
from router.tools.text_overlap import identifying_terms, record_texts, term_set, uses_only_terms
from router.tools.trust import sanitize
from router.tools.trust.characters import count_scripts


@dataclass(frozen=True, slots=True)
class RecordContext:
    """A record, and what it lets be said of its tool.

    `providers` and `operations` may be named. `scripts` may be written in, on top of those for all. `record_terms` are
    given only for a record that tries to steer: a text must then share some of them. `identifying_terms` are of the
    name and the first sentence.
    """

    record: ToolRecord
    names: Names
    providers: frozenset[Name]
    operations: frozenset[str]
    scripts: frozenset[str]
    record_terms: frozenset[str] | None
    identifying_terms: frozenset[str]

    @classmethod
    def of(cls, record: ToolRecord, names: Names) -> "RecordContext":
        """Return the context of a record in the catalog that `names` are of."""
        clean, left_out = sanitize(record)
        return cls(
            record,
            names,
            names.supported(clean),
            operations.supported(clean),
            frozenset(count_scripts(f"{clean.name} {clean.description}")),
            term_set(" ".join(record_texts(clean))) if left_out else None,
            identifying_terms(clean),
        )

    def text(self, field: str, text: str, allowed_scripts: frozenset[str]) -> "CheckedText":
        """Return a text of a field, ready to be checked."""
        return CheckedText(field, text, allowed_scripts, self.identifying_terms)


@dataclass(frozen=True, slots=True)
class CheckedText:
    """A text of an expansion's field, and the `identifying_terms` of the tool's record."""

    field: str
    text: str
    allowed_scripts: frozenset[str]
    identifying_terms: frozenset[str]

    @property
    def uses_only_terms(self) -> bool:
        """Whether the text says only what the record's own words say. Few texts must know: it takes a while."""
        return uses_only_terms(self.text, self.identifying_terms)
