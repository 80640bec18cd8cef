"""Text analysis: the one analyzer that the build and the router share.

Names of tools (identifiers) and requests (prose) both go through `pretokenize`:

    getUserById        → get User By Id getUserById      split and joined forms
    list_charges       → list charges listcharges
    OAuth2, S3         → OAuth 2 OAuth2, 3 S3
    顧客情報            → 顧客 客情 情報                     bigrams, as Lucene's CJKBigramFilter does

Tantivy's filters do the rest: lower case, folded accents, stop words, English stems. (Rust regexes have no look-around,
so identifiers are split here.) Scripts other than Latin and CJK pass whole. Phrases in other languages go through
`pretokenize` and then through their language's filters.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

# Raise it with any change to the terms of a text: snapshots of another version are refused.
TEXT_VERSION = 1

ENGLISH = "en"
# The languages of phrases, by ISO 639-1 code. Thai, Lao, Khmer and Burmese are not among them: they put no spaces
# between words, and `pretokenize` segments only Chinese, Japanese and Korean.
LANGUAGES = tuple(
    (
        "ar bg ca cs da de el en es et fa fi fr he hi hr hu id it ja ko lt lv nl no pl pt ro ru sk sl sr sv ta "
        "tr uk vi zh"
    ).split()
)
# The languages that Tantivy has stemmers for, by its names. Others are only lower-cased, with accents folded.
TANTIVY_NAMES = dict(
    zip(
        "ar da de el es fi fr hu it nl no pt ro ru sv ta tr".split(),
        "arabic danish german greek spanish finnish french hungarian italian dutch norwegian portuguese romanian "
        "russian swedish tamil turkish".split(),
        strict=True,
    )
)
LANGUAGES_WITH_STOP_WORDS = tuple("es pt ru fr de it nl hu sv da fi no".split())  # by native speakers

_MAX_TERM = 64  # longer runs are hashes and blobs, not words
_MAX_JOINED = 40

_NOT_TEXT = re.compile(r"[^0-9A-Za-z\-_.']+")
# Latin letters with their marks, up to Vietnamese.
_MARKED = "".join(map(chr, (*range(0x80, 0x250), *range(0x1E00, 0x1F00))))
_PLAIN_WORD = re.compile("[A-Za-z]?[a-z]+")
_DIGITS = re.compile(r"\d+|\D+")
# Compiled where it is first used, which takes as long as the rest of this module.
CJK = r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+"

# Closed-class English words and the courtesies of requests ("please", "can you"). Verbs of operation (get, set, show,
# find) are not among them: in a catalog they distinguish tools.
STOP_WORDS = tuple(
    (
        "a an the and or but if then than so as of at by for with about into onto from to in on off over under up down "
        "is are was were be been being am do does did doing have has had having i me my mine we us our ours you your "
        "yours he him his she her hers it its they them their theirs this that these those there here what which who "
        "whom whose when where why how can could will would shall should may might must please just also very too "
        "some any each not no nor only own same such s t d ll m o re ve don want need like via per let"
    ).split()
)


def pretokenize(text: str) -> str:
    """Return the words of a text, separated by single spaces: identifiers in split and joined forms, case kept."""
    text = unicodedata.normalize("NFKC", text)
    if text.isascii():
        text = _NOT_TEXT.sub(" ", text)
    else:
        text = "".join(c if _is_text(c) else " " for c in text)
    forms: list[str] = []
    for chunk in text.split():
        if _PLAIN_WORD.fullmatch(chunk):
            forms.append(chunk)  # the common case, in which there is nothing to strip
            continue
        chunk = chunk.strip("-_.'").removesuffix("'s")
        if _PLAIN_WORD.fullmatch(chunk):
            forms.append(chunk)
        elif chunk:
            forms.extend(_forms(chunk))
    return " ".join(forms)


def identifier_words(identifier: str) -> list[str]:
    """Return the words of an identifier in order, lower case, without joined forms: `getUserById` → get user by id."""
    return [hump.lower() for hump in _humps(identifier)]


def _humps(text: str) -> list[str]:
    """Return plurals of capitals (URLs), capitals before a word (HTMLParser), words, digits and other scripts."""
    return _hump("" if text.isascii() else _MARKED).findall(text)


@cache
def _hump(marked: str) -> re.Pattern[str]:
    """Return the pattern of a hump, for text of ASCII and these letters. With all of them it takes long to compile."""
    upper = "A-Z" + "".join(filter(str.isupper, marked))
    lower = "a-z" + "".join(filter(str.islower, marked))
    return re.compile(
        rf"[{upper}]{{2,}}s(?![{lower}])|[{upper}]+(?![{lower}])|[{upper}]?[{lower}]+|\d+|[^\W\d_{upper}{lower}]+"
    )


def _is_text(character: str) -> bool:
    # Combining marks belong to the letters of Indic and other scripts: without them words would be cut.
    return character.isalnum() or character in "-_.'" or unicodedata.category(character)[0] == "M"


def _forms(chunk: str) -> list[str]:
    """Return the forms of a chunk that is more than a plain word, each once, in order of appearance."""
    forms: dict[str, None] = {}
    segments = [segment for segment in re.split(r"[-_.']+", chunk) if segment]
    for segment in segments:
        if not segment.isascii():
            for run in re.findall(CJK, segment):
                forms.update(dict.fromkeys(run[i : i + 2] for i in range(max(1, len(run) - 1))))
            segment = re.sub(CJK, "", segment)
            if not any(map(_is_latin, segment)):
                if segment:
                    forms[segment] = None  # another script: whole, marks and all
                continue
        humps = _humps(segment)
        for piece in humps + _DIGITS.findall(segment):
            # A lone letter cut from a longer word (the O of OAuth) says nothing.
            if len(piece) > 1 or piece.isdigit() or len(humps) == 1:
                forms[piece] = None
        if len(segment) <= _MAX_JOINED:
            forms[segment] = None
    joined = "".join(segments)
    if len(segments) > 1 and len(joined) <= _MAX_JOINED and not joined.isdigit() and not re.search(CJK, joined):
        forms[joined] = None
    return list(forms)


def _is_latin(character: str) -> bool:
    return (character.isascii() or character in _MARKED) and (character.isupper() or character.islower())


@cache
def script(letter: str) -> str:
    """Return the script of a letter, by the first word of its name in Unicode: LATIN, CYRILLIC, CJK, HANGUL."""
    return unicodedata.name(letter, "UNKNOWN").replace("FULLWIDTH ", "").replace("HALFWIDTH ", "").split()[0]


def analyzer_name(language: str = ENGLISH) -> str:
    """Return the name under which a Tantivy index registers a language's analyzer."""
    return "quartermaster" if language == ENGLISH else f"quartermaster_{language}"


@cache
def analyzer(language: str = ENGLISH, *, stems: bool = True) -> TextAnalyzer:
    """Return the Tantivy analyzer of a language for text that `pretokenize` returned.

    Where Tantivy has no stemmer of it, or without `stems`, words are only lower-cased, with accents folded.
    """
    builder: Any = TextAnalyzerBuilder(Tokenizer.whitespace())
    for step in (Filter.remove_long(_MAX_TERM), Filter.lowercase(), *_filters(language, stems)):
        builder = builder.filter(step)
    language_analyzer: TextAnalyzer = builder.build()
    return language_analyzer


def _filters(language: str, stems: bool) -> list[Any]:
    if language == ENGLISH:
        return [Filter.ascii_fold(), Filter.custom_stopword(list(STOP_WORDS)), Filter.stemmer("english")]
    filters = [Filter.stopword(TANTIVY_NAMES[language])] if language in LANGUAGES_WITH_STOP_WORDS else []
    if stems and language in TANTIVY_NAMES:
        filters.append(Filter.stemmer(TANTIVY_NAMES[language]))
    # Last, as stop words and stemmers need their language's accents: "für", "anulé".
    return [*filters, Filter.ascii_fold()]


def terms(text: str) -> list[str]:
    """Return the English index terms of a text, in order, with repeats."""
    return analyzer().analyze(pretokenize(text))


def terms_by_language(text: str, languages: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the index terms of each word by language: "Rechnungen" → {"en": "rechnungen", "de": "rechnung"}.

    `languages` are English and others. Each term of a language is yielded once; words without a new term are skipped.
    So are English STOP_WORDS: an English request must not match "do" and "to" in Polish.
    """
    seen: set[tuple[str, str]] = set()
    for word in dict.fromkeys(pretokenize(text).split()):
        if not analyzer().analyze(word):
            continue
        # A word is one token, of which an analyzer makes one term or none.
        pairs = ((language, term) for language in languages for term in analyzer(language).analyze(word))
        if new_terms := dict(pair for pair in pairs if pair not in seen):
            seen.update(new_terms.items())
            yield new_terms
