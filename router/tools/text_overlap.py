"""Texts by the terms that they share: which repeat another, which say little of a record, which say only its own."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from router.record import ToolRecord
from router.text import identifier_words, terms
from router.tools.provider_labels import label_words

# Of two texts' terms together, the share that both hold. Where a model wrote, 20 texts of 20,000 repeat another, nearly
# all of them synonyms; nDCG@10 without them +.001 on Azure's MCP tools, .000 on UltraTool, MetaTool and catalogs/demo.
# Of the lexicon's words 1 to 3 % do: -.000, -.001 and +.001 on the first three.
_SAME = 0.8
# Of a text's terms, the share that must be the record's own where the record tries to steer. Elsewhere a phrase without
# any is the most valuable there is: it bridges the words of people and of developers.
_SHARED = 0.3
_FIRST_SENTENCE = re.compile(r"^.*?(?:[.!?\u3002](?=\s|$)|\n|$)", re.DOTALL)


def find_near_duplicates(texts: Sequence[str]) -> dict[int, int]:
    """Positions of texts that say what an earlier one does, each with the position of that one.

    Terms are the router's: stems, without stop-words. A text without any is nobody's repeat.
    """
    found: dict[int, int] = {}
    kept: list[tuple[int, frozenset[str]]] = []
    for position, text in enumerate(texts):
        own = term_set(text)
        for earlier, other in kept:
            if own and len(own & other) >= _SAME * len(own | other):
                found[position] = earlier
                break
        else:
            kept.append((position, own))
    return found


def shares_terms(text: str, record_terms: frozenset[str]) -> bool:
    """Return whether enough of a text's terms are those of a record."""
    own = term_set(text)
    return len(own & record_terms) >= _SHARED * len(own)


def identifying_terms(record: ToolRecord) -> frozenset[str]:
    """Return the terms of a record's name, label and first sentence, the record as `router.trust.trusted` leaves it."""
    sentence = _FIRST_SENTENCE.match(record.description.strip())
    return term_set(" ".join((record.name, *label_words(record.provider), sentence[0] if sentence else "")))


def uses_only_terms(text: str, own: frozenset[str]) -> bool:
    """Return whether a text has content words, and all of them are among `identifying_terms`: "create an issue".

    No check of a phrase against other tools may drop such a phrase: whatever it says, the tool says of itself.
    """
    said = [word for word in text.split() if term_set(word)]
    return bool(said) and all(_is_among(word, own) for word in said)


def _is_among(word: str, own: frozenset[str]) -> bool:
    """Return whether a word is, as it stands, in lower case ("GitHub" of "github") or by its parts ("list_issues")."""
    return any(
        term_set(form) <= own for form in (word, word.casefold(), " ".join(identifier_words(word))) if term_set(form)
    )


def record_texts(record: ToolRecord) -> Iterable[str]:
    """Return every text of a record."""
    yield from (record.name, record.provider or "", record.description, *record.categories, *record.examples)
    for parameter in record.parameters:
        yield from (parameter.path, parameter.description, *parameter.enum)


def term_set(text: str) -> frozenset[str]:
    """The router's terms of a text, each once. Words come again and again: theirs are kept."""
    return frozenset(term for word in text.split() for term in _terms(word))


@lru_cache(maxsize=131_072)
def _terms(word: str) -> tuple[str, ...]:
    return tuple(terms(word))
