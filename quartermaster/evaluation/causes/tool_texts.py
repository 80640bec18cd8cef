"""What the tools of a router say, for the rules: records, terms and objects, each read once."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import dropwhile

from router.record import ToolRecord
from router.router import Router
from router.text import identifier_words
from router.tools.field_text import dense_document, description_document, name_document
from router.tools.naming import parse_operation
from router.tools.text_overlap import label_words, term_set
from router.tools.trust import sanitize

_MIN_SIMILARITY = 0.8  # Jaccard of near-duplicates, as in docs/decisions/phrase-checks.md


@dataclass(frozen=True)
class ToolText:
    """A tool's record without steering text, and its phrases."""

    record: ToolRecord
    phrases: tuple[str, ...]

    @cached_property
    def terms(self) -> frozenset[str]:
        """The terms of all that the lexical lists read of the tool."""
        texts = (name_document(self.record), description_document(self.record), *self.phrases)
        return term_set("\n".join(texts))

    @cached_property
    def dense_document(self) -> str:
        """The tool's text as the encoder gets it, before it cuts it. Phrases have vectors of their own."""
        return dense_document(self.record)

    @cached_property
    def name_terms(self) -> frozenset[str]:
        """The terms of the words of the tool's name."""
        return term_set(" ".join(identifier_words(self.record.name)))

    @cached_property
    def description_terms(self) -> frozenset[str]:
        """The terms of the tool's description."""
        return term_set(self.record.description)

    @cached_property
    def object_terms(self) -> frozenset[str]:
        """The terms of what the tool acts on: the nouns of its name, without the provider's label before it."""
        return term_set(" ".join(parse_operation(_without_label(self.record)).noun_phrase.nouns))

    def is_near_duplicate(self, other: "ToolText") -> bool:
        """Return whether both names and both descriptions are nearly equal; empty descriptions count as equal."""
        return _similar(self.name_terms, other.name_terms) and (
            _similar(self.description_terms, other.description_terms)
            or not (self.record.description or other.record.description)
        )

    def has_same_object(self, other: "ToolText") -> bool:
        """Return whether both names have the same object: `create_issue` and `list_issues`."""
        return bool(self.object_terms) and self.object_terms == other.object_terms


class ToolTexts:
    """The texts of a router's tools by id, each read when a rule first looks at it."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self._texts: dict[str, ToolText | None] = {}

    def get(self, tool_id: str) -> ToolText | None:
        """Return the text of a tool; None where the snapshot has no such tool."""
        if tool_id not in self._texts:
            record = self._router.record(tool_id)
            self._texts[tool_id] = (
                None if record is None else ToolText(sanitize(record)[0], self._router.phrases(tool_id))
            )
        return self._texts[tool_id]

    def parameter_resolved_by(self, given: str, needing: str) -> str | None:
        """Return the parameter of `needing` that the prerequisite graph has `given` for; None without one."""
        for need in self._router.prerequisites(needing):
            if any(resolver.tool_id == given for resolver in need.resolvers):
                return need.parameter
        return None

    @cached_property
    def has_providers(self) -> bool:
        """Whether the catalog has tools of several providers."""
        return len(self._router.providers) > 1


def _without_label(record: ToolRecord) -> ToolRecord:
    """Return a record whose name does not begin with words of its provider's label: `github_create_issue`."""
    label, words = set(label_words(record.provider)), identifier_words(record.name)
    own = list(dropwhile(label.__contains__, words))
    return replace(record, name="_".join(own)) if own and own != words else record


def _similar(first: frozenset[str], second: frozenset[str]) -> bool:
    return bool(first) and len(first & second) >= _MIN_SIMILARITY * len(first | second)
