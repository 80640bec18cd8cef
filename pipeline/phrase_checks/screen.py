"""Screen an expansion: drop the texts that a check finds fault with, and say why."""

from collections.abc import Sequence
from dataclasses import replace

from pipeline.enrichment.context import Consequence, TextVerdict
from pipeline.phrase_checks.checks import RecordContext
from pipeline.phrase_checks.names import Names
from router.expansion import Expansion
from router.record import ToolRecord
from router.tools.text_overlap import find_near_duplicates
from router.tools.trust.characters import scripts_of_languages
from router.tools.trust.sanitization import RemovedText, sanitize
from router.tools.trust.steering_text import Finding

# The fields of an expansion that are lists of English texts.
LISTS = ("user_phrases", "synonyms", "related_concepts", "task_categories", "requires", "provides")


class Screen:
    """Checks what was written for the tools of a catalog.

    `suspicious` has a verdict for each text of the records themselves that tries to steer.
    """

    def __init__(
        self,
        records: Sequence[ToolRecord],
        languages: Sequence[str] = ("en",),
        sanitized: Sequence[tuple[ToolRecord, Sequence[RemovedText]]] | None = None,
    ) -> None:
        """`languages` are those that texts may be written in, beside the record's own.

        `sanitized`, where it is known, is what `sanitize` returns of each record.
        """
        self._scripts = scripts_of_languages(languages) | {"LATIN"}
        clean_records: list[ToolRecord] = []
        suspicious: list[TextVerdict] = []
        for record, (clean, left_out) in zip(records, sanitized or map(sanitize, records), strict=True):
            clean_records.append(clean)
            suspicious.extend(_dropped(record, out.field, out.text, Finding(out.check, out.detail)) for out in left_out)
        self.suspicious: tuple[TextVerdict, ...] = tuple(suspicious)
        self._names = Names(clean_records)

    def __call__(self, record: ToolRecord, expansion: Expansion) -> tuple[Expansion, tuple[TextVerdict, ...]]:
        """Return the expansion without the texts that a check drops, and a verdict for each of these."""
        verdicts: list[TextVerdict] = []
        context = RecordContext.of(record, self._names)
        allowed = self._scripts | context.scripts

        def keep(field: str, texts: Sequence[str], allowed_scripts: frozenset[str]) -> tuple[str, ...]:
            kept: list[str] = []
            for text in texts:
                if finding := context.first_finding(field, text, allowed_scripts):
                    verdicts.append(_dropped(record, field, text, finding))
                else:
                    kept.append(text)
            repeats = find_near_duplicates(kept)
            for position, earlier in repeats.items():
                verdicts.append(_dropped(record, field, kept[position], Finding("repeat", kept[earlier])))
            return tuple(text for position, text in enumerate(kept) if position not in repeats)

        translations = {
            language: keep(f"translations.{language}", phrases, scripts_of_languages((language,)))
            for language, phrases in expansion.translations.items()
        }
        when = keep("when_to_use", [expansion.when_to_use] if expansion.when_to_use else [], allowed)
        lists = {field: keep(field, getattr(expansion, field), allowed) for field in LISTS}
        screened = replace(
            expansion,
            when_to_use="".join(when),
            translations={language: phrases for language, phrases in translations.items() if phrases},
            **lists,
        )
        return screened, tuple(verdicts)


def _dropped(record: ToolRecord, field: str, text: str, finding: Finding) -> TextVerdict:
    return TextVerdict(record.tool_id, field, text, finding.check, Consequence.DROPPED, finding.detail)
