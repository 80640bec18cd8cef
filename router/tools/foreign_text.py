"""Finds text that the English analyzer does not read: another script, or another language in Latin letters.

Letters show the script, Tantivy's stop words and accents another language in Latin letters. A short text that has
neither counts as English.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from router.text import ENGLISH, LANGUAGES_WITH_STOP_WORDS, STOP_WORDS, TANTIVY_NAMES

LATIN = "Latin"

_MAX_CHARACTERS = 1_000  # a text shows its language sooner
# A character of Chinese or Korean says as much as two or three Latin letters.
_SCRIPT_SHARE = 0.3
_STOP_WORD_SHARE = 0.15  # of all words
# Two stop words of another language may be English abbreviations (AI, OS, e), but not beside an accent.
_FEWEST_STOP_WORDS = 3
_FEWEST_BESIDE_ACCENTS = 2
_MOST_KEPT_WORDS = 65_536  # whose languages are known
_MOST_KEPT_TEXTS = 256  # a request is asked about for its forms, for its lists and for its fit
_LONGEST_STOP_WORD = 32  # letters: no longer one is looked up, and kept
_FEWEST_ACCENTED = 2  # words
_ACCENT_SHARE = 0.03  # of all letters
_LATIN = "LATIN"
_ENGLISH_STOP_WORDS = frozenset(STOP_WORDS)
_ASCII_WORD = re.compile("[a-z]+")
_BETWEEN_WORDS = re.compile(r"[\s'’]+")
_SENTENCE_ENDS = ".!?:"
_PUNCTUATION = '.,;:!?¿¡()[]{}"«»„“”…`*/&-–—'

# The languages of LANGUAGES that most text of a script is in.
_LANGUAGE_OF_SCRIPT = {"Arabic": "ar", "Cyrillic": "ru", "Devanagari": "hi", "Greek": "el", "Han": "zh", "Hangul": "ko"}
_LANGUAGE_OF_SCRIPT |= {"Hebrew": "he", "Hiragana": "ja", "Katakana": "ja", "Tamil": "ta"}
# Letters that others of the same script lack.
_OWN_LETTERS = {"ja": "[\u3040-\u30ff]", "uk": "[іїєґ]", "sr": "[ђјљњћџ]", "fa": "[پچژکگی]"}
_OWN_LATIN_LETTERS = {"tr": "[ğı]", "cs": "[řů]", "pl": "[łżź]", "ro": "[țș]", "vi": "[ơư]", "lt": "[ėų]"}


def foreign_script(text: str) -> str:
    """Return the script of a text that is not English, such as "Hangul" or "Latin"; empty for English."""
    return _script(text[:_MAX_CHARACTERS])


@lru_cache(_MOST_KEPT_TEXTS)
def _script(text: str) -> str:
    if text.isascii():
        words = _ASCII_WORD.findall(text.lower())
    else:
        words = "".join(character if character.isalpha() else " " for character in text.casefold()).split()
    english = sum(word in _ENGLISH_STOP_WORDS for word in words)
    if text.isascii():
        return "" if english or not _has_stop_words(words, _FEWEST_STOP_WORDS) else LATIN
    from router.tools.trust.characters import count_scripts  # here: most requests are plain ASCII

    counts = count_scripts(text)
    others = {script: count for script, count in sorted(counts.items()) if script != _LATIN}
    script = max(others, key=others.__getitem__) if others else _LATIN
    if sum(others.values()) > _SCRIPT_SHARE * counts.total() or (not english and _has_accents(words)):
        return "Han" if script == "CJK" else script.capitalize()
    return LATIN if _has_stop_words(words, max(_FEWEST_BESIDE_ACCENTS, english + 1)) else ""


def request_language(text: str) -> str:
    """Return the ISO 639-1 code of a request's language: "en" for English, "" for another that is not known.

    A request is a whole sentence, which says sooner than a name or a label what language it is in: two stop words of
    another language are enough, or one beside an accent, where English has fewer that the other lacks. Languages that
    share a script without letters of their own count as the one that most text is in.
    """
    language = ENGLISH
    if script := foreign_script(text):
        letters_of = _OWN_LATIN_LETTERS if script == LATIN else _OWN_LETTERS
        folded = text[:_MAX_CHARACTERS].casefold()
        own = (code for code, letters in letters_of.items() if re.search(letters, folded))
        language = next(own, _LANGUAGE_OF_SCRIPT.get(script, ""))
        if script != LATIN:
            return language
    return latin_language(text, fewest=2 if text[:_MAX_CHARACTERS].isascii() else 1) or language


def latin_language(text: str, among: Sequence[str] = LANGUAGES_WITH_STOP_WORDS, fewest: int = 2) -> str:
    """Return which of some languages a text has the most stop words of, by its code.

    Of equals it is the one with more stop words that English has too, then the first. Empty where it has
    fewer than `fewest`, or no more than of English: those of both languages count for neither.
    """
    own, shared, english = _stop_words(text[:_MAX_CHARACTERS])
    language = max(among, key=lambda code: (own[code], shared[code]), default="")
    return language if own[language] >= fewest and own[language] > english - shared[language] else ""


@lru_cache(_MOST_KEPT_TEXTS)
def _stop_words(text: str) -> tuple[Counter[str], Counter[str], int]:
    """Return by language the stop words that English lacks and those that it has too, and how many English ones."""
    folded = {
        word.casefold()
        for before, chunk in pairwise(["", *_BETWEEN_WORDS.split(text)])
        # Identifiers and addresses are no words. Names within a sentence (Las Vegas) and abbreviations (AI) may be
        # stop words of other languages, and are not counted.
        if (word := chunk.strip(_PUNCTUATION)).isalpha() and len(word) <= _LONGEST_STOP_WORD and not word.isupper()
        if before[-1:] in _SENTENCE_ENDS or not word[0].isupper()
    }
    english = folded & _ENGLISH_STOP_WORDS
    own = Counter(language for word in folded - english for language in _languages_with(word))
    return own, Counter(language for word in english for language in _languages_with(word)), len(english)


def _has_accents(words: Sequence[str]) -> bool:
    accents = sum(not character.isascii() for word in words for character in word)
    accented_words = sum(not word.isascii() for word in set(words))
    return accented_words >= _FEWEST_ACCENTED and accents >= _ACCENT_SHARE * sum(map(len, words))


def _has_stop_words(words: Sequence[str], fewest: int) -> bool:
    """Return whether one language has at least `fewest` of the words that are no English stop words."""
    rest = {word for word in words if len(word) <= _LONGEST_STOP_WORD} - _ENGLISH_STOP_WORDS
    least = max(fewest, _STOP_WORD_SHARE * len(words))
    counts = Counter(language for word in rest for language in _languages_with(word))
    return max(counts.values(), default=0) >= least


@lru_cache(_MOST_KEPT_WORDS)
def _languages_with(word: str) -> tuple[str, ...]:
    """Return the languages that have a word among their stop words."""
    return tuple(code for code in LANGUAGES_WITH_STOP_WORDS if not _without_stop_words(code).analyze(word))


@cache
def _without_stop_words(language: str) -> TextAnalyzer:
    builder: Any = TextAnalyzerBuilder(Tokenizer.whitespace())
    analyzer: TextAnalyzer = builder.filter(Filter.stopword(TANTIVY_NAMES[language])).build()
    return analyzer
