"""What was written for a tool, checked against the tool's own record and the names in its catalog.

Nothing here needs an index or a model. What only the whole catalog can tell (does a phrase bring its own tool back,
does it fit a sibling better) is the assessment's.

What these checks are worth: they know orders, promotion and ill report by their usual words, and take away what such a
record asked for. Of 70 orders known from elsewhere they knew 30 at first sight, and 59 by now; of 50 free paraphrases
at first sight 4. Those pass, and so does a plain claim: what is left then are the names of others and the assessment.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipeline.enrichment.prompt import INSTRUCTIONS
from pipeline.enrichment.verdict import Consequence, TextVerdict
from pipeline.phrase_checks.record import operations
from pipeline.phrase_checks.record.links import advertised
from pipeline.phrase_checks.record.names import Name, Names
from router.expansion import Expansion
from router.record import ToolRecord
from router.tools.text_overlap import (
    find_near_duplicates,
    identifying_terms,
    record_texts,
    shares_terms,
    term_set,
    uses_only_terms,
)
from router.tools.trust import sanitize
from router.tools.trust.characters import count_scripts, first_hidden_character, foreign_script, scripts_of_languages
from router.tools.trust.steering_text import Finding, check_generated_phrase, first_shared_shingle, shingles

__all__ = ["SCREEN_VERSION", "Screen"]

# Raise it with any change to what is dropped.
SCREEN_VERSION = 2

_LISTS = ("user_phrases", "synonyms", "related_concepts", "task_categories")
# The longest text of five sets (20,000 texts): a phrase of 92 characters, a sentence of 158, another word of 28.
_LONGEST = {"when_to_use": 400, "user_phrases": 180, "synonyms": 80, "related_concepts": 80, "task_categories": 80}


@dataclass(frozen=True, slots=True)
class _Support:
    """What a record lets be said of its tool."""

    providers: frozenset[Name]
    operations: frozenset[str]
    scripts: frozenset[str]
    terms: frozenset[str] | None  # of a record that tries to steer; of any other, words of its own are not asked for
    own: frozenset[str]  # of the name and the first sentence


class Screen:
    """Checks what was written for a tool. `suspicious` holds what the records themselves should not have said."""

    def __init__(self, records: Sequence[ToolRecord], languages: Sequence[str] = ("en",)) -> None:
        self._scripts = scripts_of_languages(languages) | {"LATIN"}
        self._prompt = shingles(INSTRUCTIONS)
        self.suspicious: tuple[TextVerdict, ...] = ()
        clean: list[ToolRecord] = []
        found: list[TextVerdict] = []
        for record in records:
            kept, left_out = sanitize(record)
            clean.append(kept)
            found.extend(_dropped(record, out.field, out.text, Finding(out.check, out.detail)) for out in left_out)
        self.suspicious = tuple(found)
        self._names = Names(clean)

    @property
    def scripts(self) -> list[str]:
        """The scripts that any text may be written in."""
        return sorted(self._scripts)

    @property
    def names(self) -> dict[str, Any]:
        """The names that a verdict hangs on, JSON-ready: what `Changed` compares."""
        return self._names.state()

    def __call__(self, record: ToolRecord, expansion: Expansion) -> tuple[Expansion, tuple[TextVerdict, ...]]:
        """The expansion without the texts that a check drops, and a verdict for each of them."""
        verdicts: list[TextVerdict] = []
        support = self._support(record)

        def keep(field: str, texts: Sequence[str], script: frozenset[str]) -> tuple[str, ...]:
            kept: list[str] = []
            for text in texts:
                if finding := self._check(record, support, field, text, script):
                    verdicts.append(_dropped(record, field, text, finding))
                else:
                    kept.append(text)
            again = find_near_duplicates(kept)
            for position, earlier in again.items():
                finding = Finding("repeat", kept[earlier])
                verdicts.append(_dropped(record, field, kept[position], finding))
            return tuple(text for position, text in enumerate(kept) if position not in again)

        translations = {
            language: keep(f"translations.{language}", phrases, scripts_of_languages((language,)))
            for language, phrases in expansion.translations.items()
        }
        when = keep("when_to_use", [expansion.when_to_use] if expansion.when_to_use else [], support.scripts)
        lists = {field: keep(field, getattr(expansion, field), support.scripts) for field in _LISTS}
        kept = replace(
            expansion,
            when_to_use="".join(when),
            translations={language: phrases for language, phrases in translations.items() if phrases},
            **lists,
        )
        return kept, tuple(verdicts)

    def _support(self, record: ToolRecord) -> _Support:
        kept, left_out = sanitize(record)
        own = frozenset(count_scripts(f"{kept.name} {kept.description}"))
        return _Support(
            self._names.supported(kept),
            operations.supported(kept),
            self._scripts | own,
            term_set(" ".join(record_texts(kept))) if left_out else None,
            identifying_terms(kept),
        )

    def _check(
        self, record: ToolRecord, support: _Support, field: str, text: str, script: frozenset[str]
    ) -> Finding | None:
        if detail := first_hidden_character(text):
            return Finding("hidden", detail)
        if len(text) > _LONGEST.get(field, 180) or (len(text) < 2 and text.isascii()):
            return Finding("length", f"{len(text)} characters")
        is_own = uses_only_terms(text, support.own)
        finding = check_generated_phrase(text)
        if finding and not (is_own and finding.check == "defamation"):
            return finding
        if detail := advertised(text, record_texts(record)):
            return Finding("link", detail)
        if detail := first_shared_shingle(text, self._prompt):
            return Finding("echo", detail)
        if detail := foreign_script(text, script):
            return Finding("script", detail)
        if not is_own and (finding := self._of_others(record, support, field, text)):
            return finding
        if support.terms is not None and not shares_terms(text, support.terms):
            return Finding("steered", "the record tries to steer, and the rest of it says little of this")
        return None

    def _of_others(self, record: ToolRecord, support: _Support, field: str, text: str) -> Finding | None:
        """What speaks of another tool, of another provider, or of what this tool does not do."""
        if detail := self._names.other_tool(text, record):
            return Finding("tool", detail)
        if detail := self._names.other_provider(text, support.providers):
            return Finding("provider", detail)
        if field in ("user_phrases", "when_to_use") and (detail := operations.unsupported(text, support.operations)):
            return Finding("operation", detail)
        return None


def _dropped(record: ToolRecord, field: str, text: str, finding: Finding) -> TextVerdict:
    return TextVerdict(record.tool_id, field, text, finding.check, Consequence.DROPPED, finding.detail)
