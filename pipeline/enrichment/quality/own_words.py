"""What a record's own name and first sentence say, and the phrases that say nothing else.

No check of a phrase against other tools may drop such a phrase: whatever it says, the tool says of itself.
"""

import re

from pipeline.enrichment.quality.repeats import term_set
from router.labels import said_label
from router.record import ToolRecord
from router.text import words

__all__ = ["own_terms", "says_own"]

_FIRST_SENTENCE = re.compile(r"^.*?(?:[.!?\u3002](?=\s|$)|\n|$)", re.DOTALL)


def own_terms(record: ToolRecord) -> frozenset[str]:
    """Return the terms of a record's name, label and first sentence, the record as `router.trust.trusted` leaves it."""
    sentence = _FIRST_SENTENCE.match(record.description.strip())
    return term_set(" ".join((record.name, *said_label(record.provider), sentence[0] if sentence else "")))


def says_own(text: str, own: frozenset[str]) -> bool:
    """Return whether all content words of a text are among `own`, and there is one: "create an issue"."""
    said = [word for word in text.split() if term_set(word)]
    return bool(said) and all(_is_among(word, own) for word in said)


def _is_among(word: str, own: frozenset[str]) -> bool:
    """Return whether a word is, as it stands, in lower case ("GitHub" of "github") or by its parts ("list_issues")."""
    return any(term_set(form) <= own for form in (word, word.casefold(), " ".join(words(word))) if term_set(form))
