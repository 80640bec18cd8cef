"""Forms of words in other languages than English, by which a request finds a tool beside whole words.

They are stems, where Tantivy has a stemmer, and parts: four letters in a row, three where words are not separated, as
in Thai, and single Han characters. They stand behind the texts of a tool in another language, and behind the terms of a
request that is in a language of the catalog's tools. See docs/decisions/languages.md.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import chain, islice

from router.text import CJK, analyzer, pretokenize, terms
from router.tools.foreign_text import LATIN, foreign_script, latin_language

_PART_WEIGHT = 0.3  # where a word has 1
_MOST_FORMS = 256  # of a request
_MAX_CHARACTERS = 4_000  # of a request: they have so many stems; twenty thousand would take a tenth of a second
_LETTERS, _LETTERS_UNSEPARATED = 4, 3
# One language of each script that has a stemmer: others in it have much the same endings.
_STEMMED_SCRIPTS = {"Cyrillic": "ru", "Arabic": "ar", "Greek": "el", "Tamil": "ta"}
_OTHER, _OTHER_LATIN = "und", "und-Latn"  # without a stemmer, in the words of BCP 47
_NOT_LATIN = frozenset({*_STEMMED_SCRIPTS.values(), _OTHER})
_HAN = r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
_UNSEPARATED = r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"  # Thai, Lao, Burmese, Khmer
_WITHOUT_PARTS = rf"\d|{CJK}|{_UNSEPARATED}"


def tool_language(text: str) -> str:
    """Return the language whose forms a tool with such a description has; empty where it is English."""
    script = foreign_script(text)
    return _of_script(script) or latin_language(text) or (_OTHER_LATIN if script else "")


def word_forms(text: str, language: str) -> str:
    """Return the forms of a text's words in a language, as text for an index."""
    return " ".join(chain(*_stems_and_parts(text, language)))


def request_forms(request: str, languages: Sequence[str]) -> Mapping[str, float]:
    """Return the forms of a request with their weights; none where it is in no language of a catalog's tools."""
    request = request[:_MAX_CHARACTERS]
    script = foreign_script(request)
    latin = [language for language in languages if language not in _NOT_LATIN]
    # One stop word is enough: a request is short, and few languages are left.
    language = _of_script(script) or latin_language(request, latin, 1) or (_OTHER_LATIN if script else "")
    if language not in languages:
        return {}
    stems, parts = _stems_and_parts(request, language)
    known, weights = set(terms(request)), dict.fromkeys(terms(" ".join(stems)), 1.0)
    for term in terms(" ".join(parts)):
        weights.setdefault(term, _PART_WEIGHT)
    return dict(islice(((term, weight) for term, weight in weights.items() if term not in known), _MOST_FORMS))


def _of_script(script: str) -> str:
    """Return the language of a script other than Latin; empty for that, and for English."""
    return "" if script in ("", LATIN) else _STEMMED_SCRIPTS.get(script, _OTHER)


def _stems_and_parts(text: str, language: str) -> tuple[list[str], list[str]]:
    """Return the stems of a text that are none of its terms in English, and the parts of its words, with repeats."""
    words = pretokenize(text)
    known = set(analyzer().analyze(words))
    if language in _NOT_LATIN:
        words = " ".join(word for word in words.split() if not word.isascii())  # the others are English
    parts = re.findall(_HAN, text)
    for run in re.findall(_UNSEPARATED, words):
        parts += _letters(run, _LETTERS_UNSEPARATED)
    for word in analyzer(language, stems=False).analyze(words):
        if not re.search(_WITHOUT_PARTS, word):
            parts += _letters(word, _LETTERS)
    return [stem for stem in analyzer(language).analyze(words) if stem not in known], parts


def _letters(word: str, size: int) -> list[str]:
    """Return each `size` letters in a row of a word."""
    return [word[first : first + size] for first in range(len(word) - size + 1)]
