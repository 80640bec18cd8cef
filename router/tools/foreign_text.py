"""Finds text that the English analyzer does not read: another script, or another language in Latin letters.

Letters show the script, Tantivy's stop words and accents another language in Latin letters. A short text that has
neither counts as English.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from router.text import LANGUAGES, LANGUAGES_WITH_STOP_WORDS, STOP_WORDS

_MAX_CHARACTERS = 1_000  # a text shows its language sooner
# A character of Chinese or Korean says as much as two or three Latin letters.
_SCRIPT_SHARE = 0.3
_STOP_WORD_SHARE = 0.15  # of all words
# Two stop words of another language may be English abbreviations (AI, OS, e), but not beside an accent.
_FEWEST_STOP_WORDS = 3
_FEWEST_BESIDE_ACCENTS = 2
_FEWEST_ACCENTED = 2  # words
_ACCENT_SHARE = 0.03  # of all letters
_LATIN = "LATIN"
_ENGLISH_STOP_WORDS = frozenset(STOP_WORDS)


def foreign_script(text: str) -> str:
    """Return the script of a text that is not English, such as "Hangul" or "Latin"; empty for English."""
    text = text[:_MAX_CHARACTERS]
    words = "".join(character if character.isalpha() else " " for character in text.casefold()).split()
    english = sum(word in _ENGLISH_STOP_WORDS for word in words)
    if text.isascii():
        return "" if english or not _has_stop_words(words, _FEWEST_STOP_WORDS) else _name(_LATIN)
    from router.tools.trust.characters import count_scripts  # here: most requests are plain ASCII

    counts = count_scripts(text)
    others = {script: count for script, count in sorted(counts.items()) if script != _LATIN}
    script = max(others, key=others.__getitem__) if others else _LATIN
    if sum(others.values()) > _SCRIPT_SHARE * counts.total():
        return _name(script)
    if not english and _has_accents(words):
        return _name(script)
    return _name(_LATIN) if _has_stop_words(words, max(_FEWEST_BESIDE_ACCENTS, english + 1)) else ""


def _name(script: str) -> str:
    return "Han" if script == "CJK" else script.capitalize()


def _has_accents(words: Sequence[str]) -> bool:
    accents = sum(not character.isascii() for word in words for character in word)
    accented_words = sum(not word.isascii() for word in set(words))
    return accented_words >= _FEWEST_ACCENTED and accents >= _ACCENT_SHARE * sum(map(len, words))


def _has_stop_words(words: Sequence[str], fewest: int) -> bool:
    """Return whether one language has at least `fewest` of the words that are no English stop words."""
    rest = [word for word in dict.fromkeys(words) if word not in _ENGLISH_STOP_WORDS]
    least = max(fewest, _STOP_WORD_SHARE * len(words))
    text = " ".join(rest)
    return len(rest) >= least and any(
        len(rest) - len(_without_stop_words(language).analyze(text)) >= least for language in LANGUAGES_WITH_STOP_WORDS
    )


@cache
def _without_stop_words(language: str) -> TextAnalyzer:
    builder: Any = TextAnalyzerBuilder(Tokenizer.whitespace())
    analyzer: TextAnalyzer = builder.filter(Filter.stopword(LANGUAGES[language].lower())).build()
    return analyzer
