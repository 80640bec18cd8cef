"""Drop the texts of the lexicon that a build drops too, so that tools rank alike in memory and in a build.

A build also checks for names of other tools and for operations that the record does not mention. Those checks are
meant for texts that a model wrote: the lexicon adds nothing that the record does not say.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

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
from router.tools.trust.steering_text import check_generated_phrase


def screen_expansion(expansion: Expansion, record: ToolRecord, steers: bool) -> Expansion:
    """Return an expansion without texts that repeat others, speak to the model, or are one letter.

    Where the vendor's text `steers`, texts that are not grounded in the record are dropped too. `record` is what
    `sanitize` left of the vendor's.
    """
    record_terms = term_set(" ".join(record_texts(record))) if steers else None
    own = identifying_terms(record)

    def is_fit(text: str) -> bool:
        finding = _spoken(text)
        if finding and not (finding.check == "defamation" and uses_only_terms(text, own)):
            return False
        return (len(text) > 1 or not text.isascii()) and (record_terms is None or shares_terms(text, record_terms))

    def fit_texts(texts: Sequence[str]) -> tuple[str, ...]:
        fit = [text for text in texts if is_fit(text)]
        repeats = find_near_duplicates(fit)
        return tuple(text for place, text in enumerate(fit) if place not in repeats)

    return replace(
        expansion,
        when_to_use="".join(fit_texts([expansion.when_to_use])),
        user_phrases=fit_texts(expansion.user_phrases),
        synonyms=fit_texts(expansion.synonyms),
        related_concepts=fit_texts(expansion.related_concepts),
        task_categories=fit_texts(expansion.task_categories),
        requires=fit_texts(expansion.requires),
        provides=fit_texts(expansion.provides),
    )


_spoken = lru_cache(maxsize=16_384)(check_generated_phrase)  # tools of one verb or noun have the same synonyms
