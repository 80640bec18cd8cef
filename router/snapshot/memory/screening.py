"""What a build drops of the lexicon's texts, dropped here too: so the same tools rank alike, built or in memory.

What a build checks beside that, the names of other tools and operations that a record does not tell of, is for texts
that a model wrote: the lexicon says nothing that the record does not.
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


def screened(expansion: Expansion, record: ToolRecord, steers: bool) -> Expansion:
    """Return an expansion without texts that repeat others, speak to the model, or are one letter; where the tool
    `steers`, also without those that say little of the record, which is what `trusted` leaves of it."""
    said = term_set(" ".join(record_texts(record))) if steers else None
    own = identifying_terms(record)

    def fit(text: str) -> bool:
        finding = _spoken(text)
        if finding and not (finding.check == "defamation" and uses_only_terms(text, own)):
            return False
        return (len(text) > 1 or not text.isascii()) and (said is None or shares_terms(text, said))

    def kept(texts: Sequence[str]) -> tuple[str, ...]:
        good = [text for text in texts if fit(text)]
        again = find_near_duplicates(good)
        return tuple(text for place, text in enumerate(good) if place not in again)

    return replace(
        expansion,
        when_to_use="".join(kept([expansion.when_to_use])),
        user_phrases=kept(expansion.user_phrases),
        synonyms=kept(expansion.synonyms),
        related_concepts=kept(expansion.related_concepts),
        task_categories=kept(expansion.task_categories),
    )


_spoken = lru_cache(maxsize=16_384)(check_generated_phrase)  # tools of one verb or noun have the same synonyms
