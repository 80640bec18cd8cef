"""Compares texts by their terms: near-duplicates, the overlap of a text with a record; and shortens labels."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from router.record import ToolRecord
from router.text import identifier_words, terms

_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile("['\u2019]s\\b")
_BOILERPLATE = frozenset(
    "mcp server servers api apis rest sdk ts py the official openapi swagger spec specification".split()
)
MAX_LABEL_WORDS = 3
_MAX_CHARACTERS = 24


def is_long(label: str) -> bool:
    """Return whether a label is longer than people would use: over three words or 24 characters."""
    return len(label) > _MAX_CHARACTERS or len(_WORD.findall(label)) > MAX_LABEL_WORDS


def label_words(provider: str | None) -> tuple[str, ...]:
    """Return the words of a label's last path part, in lower case, without the boilerplate of registries."""
    last_part = _POSSESSIVE.sub("", (provider or "").rsplit("/", 1)[-1])
    return tuple(word for word in map(str.casefold, _WORD.findall(last_part)) if word not in _BOILERPLATE)


def short_label(provider: str | None) -> str:
    """Return a label for use in short texts: the label itself, or the first three `label_words` of a long one.

    Empty where there is no label.
    """
    if not provider or not is_long(provider):
        return provider or ""
    return " ".join(label_words(provider)[:MAX_LABEL_WORDS]) or provider[:_MAX_CHARACTERS]


# The least Jaccard similarity of near-duplicates. See docs/decisions/phrase-checks.md.
_MIN_SIMILARITY = 0.8
# The least share of a phrase's terms that a record with steering text must contain. Other records have no such limit: a
# phrase without shared terms is the most valuable, as it bridges the words of users and of developers.
_MIN_SHARED = 0.3
_FIRST_SENTENCE = re.compile(r"^.*?(?:[.!?\u3002](?=\s|$)|\n|$)", re.DOTALL)


def find_near_duplicates(texts: Sequence[str]) -> dict[int, int]:
    """Return the position of each text that is a near-duplicate of an earlier one, mapped to the earlier position.

    Terms are the router's: stems, without stop words. A text without terms is not a duplicate.
    """
    duplicates: dict[int, int] = {}
    originals: list[tuple[int, frozenset[str]]] = []
    for position, text in enumerate(texts):
        text_terms = term_set(text)
        for earlier, other_terms in originals:
            if text_terms and len(text_terms & other_terms) >= _MIN_SIMILARITY * len(text_terms | other_terms):
                duplicates[position] = earlier
                break
        else:
            originals.append((position, text_terms))
    return duplicates


def shares_terms(text: str, record_terms: frozenset[str]) -> bool:
    """Return whether enough of a text's terms are among a record's."""
    return len((own := term_set(text)) & record_terms) >= _MIN_SHARED * len(own)


def identifying_terms(record: ToolRecord) -> frozenset[str]:
    """Return the terms of the name, provider's label and first sentence of a record, which must be sanitized."""
    sentence = _FIRST_SENTENCE.match(record.description.strip())
    return term_set(" ".join((record.name, *label_words(record.provider), sentence[0] if sentence else "")))


def uses_only_terms(text: str, allowed_terms: frozenset[str]) -> bool:
    """Return whether a text has content words, and all of them are among a record's `identifying_terms`.

    Checks against other tools must keep these phrases ("create an issue"), since the tool itself says them.
    """
    content_words = [word for word in text.split() if term_set(word)]
    return bool(content_words) and all(_is_among(word, allowed_terms) for word in content_words)


def _is_among(word: str, allowed_terms: frozenset[str]) -> bool:
    """Return whether the terms hold a word as it stands, in lower case ("GitHub") or by its parts ("list_issues")."""
    forms = map(term_set, (word, word.casefold(), " ".join(identifier_words(word))))
    return any(form and form <= allowed_terms for form in forms)


def record_texts(record: ToolRecord) -> Iterable[str]:
    """Yield every text of a record."""
    yield from (record.name, record.provider or "", record.description, *record.categories, *record.examples)
    for parameter in record.parameters:
        yield from (parameter.path, parameter.description, *parameter.enum)


def term_set(text: str) -> frozenset[str]:
    """Return the set of a text's terms. The terms of single words are cached."""
    return frozenset(term for word in text.split() for term in _terms(word))


@lru_cache(maxsize=131_072)
def _terms(word: str) -> tuple[str, ...]:
    return tuple(terms(word))
