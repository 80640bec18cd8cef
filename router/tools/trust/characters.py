"""Finds and removes hidden characters, and finds the scripts of a text.

Joiners, direction marks and variation selectors belong to the text in some scripts and in emoji; elsewhere they are
hidden characters.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable

from router.text import script

# Control, format, private and surrogate characters, line separators, non-characters, and blanks that count as letters.
_SPECIAL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
# Sequences that a terminal obeys: colours and cursor (CSI), titles and links (OSC), other strings, single commands.
_TERMINAL_SEQUENCE = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"
    "|\x1b[ -/]*[0-~]"
)
_JOINER = re.compile("[\u200c\u200d]")
_DIRECTION = re.compile("[\u200e\u200f\u061c]")
_IDEOGRAPH_SELECTOR = re.compile("[\ufe00-\ufe0d\U000e0100-\U000e01ef]")
_MONGOLIAN_SELECTOR = re.compile("[\u180b-\u180f]")
# Scripts that use joiners: Arabic, Syriac, the Indic scripts, Myanmar, Khmer, Mongolian.
_JOINING = re.compile("[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefe]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_IDEOGRAPH = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_GAPS = ("Cc", "Zl", "Zp")
_KEYCAPS = "#*0123456789"
# Cyrillic within a Latin word, or Latin within a Cyrillic one: p\u0430ypal. Greek is legitimate there (\u03bcm).
_MIXED = re.compile("[A-Za-z][\u0400-\u04ff]|[\u0400-\u04ff][A-Za-z]")
_CYRILLIC_WORD = re.compile("[\u0400-\u052f]+")
_ALIKE = re.compile(
    "[\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0408\u0405]+"
)
# Text that only machines read: tag characters, several variation selectors (encoded bytes), reversed words.
_SMUGGLED = re.compile("[\U000e0001-\U000e007f]|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3}|[\u202d\u202e]")


def first_hidden_character(text: str) -> str:
    """Return the first hidden character of a text, as "U+200B", or the first word of disguised letters; else empty."""
    if text.isascii() and text.isprintable():
        return ""
    for match in _SPECIAL.finditer(text):
        if not _is_legitimate(text, match.start()):
            return f"U+{ord(match.group()):04X}"
    return _first_disguise(text)


def first_smuggled_character(text: str) -> str:
    """Return the first character of text that only machines read, as "U+E0041"; else empty. No script needs any."""
    match = None if text.isascii() else _SMUGGLED.search(text)
    return f"U+{ord(match.group()[0]):04X}" if match else ""


def _first_disguise(text: str) -> str:
    """Return two letters of mixed scripts within a word, or a word of look-alikes in Latin text; else empty."""
    if mixed := _MIXED.search(text):
        return mixed.group()
    words = _CYRILLIC_WORD.findall(text)
    if words and re.search("[A-Za-z]", text) and all(map(_ALIKE.fullmatch, words)):
        return str(words[0])
    return ""


def strip_hidden(text: str) -> str:
    """Return a text without hidden characters and terminal sequences; controls and line separators become spaces."""
    if text.isascii() and text.isprintable():
        return text
    return _replace_hidden(_TERMINAL_SEQUENCE.sub("", text), lambda c: " " if unicodedata.category(c) in _GAPS else "")


def show_hidden(text: str) -> str:
    """Return a text whose hidden characters are written out by code point: texts that differ stay different."""
    return _replace_hidden(text, lambda character: f"\u27e6U+{ord(character):04X}\u27e7")


def _replace_hidden(text: str, replacement: Callable[[str], str]) -> str:
    return _SPECIAL.sub(lambda m: m[0] if _is_legitimate(text, m.start()) else replacement(m[0]), text)


def _is_legitimate(text: str, position: int) -> bool:
    """Return whether the special character at a position is used as intended, beside a character that takes it."""
    character = text[position]
    before, after = text[position - 1 : position], text[position + 1 : position + 2]
    if _JOINER.match(character):
        emoji = character == "\u200d" and _is_emoji(before) and _is_emoji(after)
        return emoji or bool(_JOINING.match(before))
    if _DIRECTION.match(character):
        return bool(_RIGHT_TO_LEFT.search(text)) and not _DIRECTION.match(before)
    if _IDEOGRAPH_SELECTOR.match(character) and _IDEOGRAPH.match(before):
        return True
    if _MONGOLIAN_SELECTOR.match(character):
        return "\u1800" <= before <= "\u18af" and not _MONGOLIAN_SELECTOR.match(before)
    return (
        character in "\ufe0e\ufe0f" and before != "" and (before in _KEYCAPS or unicodedata.category(before)[0] == "S")
    )


def _is_emoji(character: str) -> bool:
    return bool(character) and (character == "\ufe0f" or unicodedata.category(character) in ("So", "Sk", "Cn"))


def count_scripts(text: str) -> Counter[str]:
    """Return the number of letters per script, by the first word of Unicode's names: LATIN, CYRILLIC, CJK, HANGUL."""
    if text.isascii():
        return Counter(LATIN=sum(map(str.isalpha, text)))
    return Counter(map(script, filter(str.isalpha, text)))


# A script and the languages that are written in it. Any other language is assumed to be written in Latin letters.
_SCRIPTS = [
    words.split()
    for words in (
        "CYRILLIC ru uk be bg mk kk ky mn tg sr uz az;LATIN sr uz az;ARABIC ar fa ur ps;DEVANAGARI hi mr ne sa;"
        "CJK zh ja ko;HIRAGANA ja;KATAKANA ja;KATAKANA-HIRAGANA ja;HANGUL ko;GREEK el;HEBREW he yi;THAI th;LAO lo;"
        "KHMER km;MYANMAR my;GEORGIAN ka;ARMENIAN hy;BENGALI bn as;GURMUKHI pa;GUJARATI gu;ORIYA or;TAMIL ta;TELUGU te;"
        "KANNADA kn;MALAYALAM ml;SINHALA si;ETHIOPIC am"
    ).split(";")
]


def scripts_of_languages(languages: Iterable[str]) -> frozenset[str]:
    """Return the scripts of languages, given by their codes; regions are ignored (`zh-TW` is `zh`)."""
    codes = {language.casefold().replace("_", "-").split("-")[0] for language in languages}
    others = codes.difference(*(written for _, *written in _SCRIPTS))
    return frozenset({script for script, *written in _SCRIPTS if codes & {*written}} | ({"LATIN"} if others else set()))


def foreign_script(text: str, allowed: frozenset[str]) -> str:
    """Return the script of most letters of a text, where it is not allowed; else empty.

    Latin words (names, units, code) may occur in every language, but a text must not consist only of them.
    """
    if text.isascii() and "LATIN" in allowed:
        return ""
    counts = count_scripts(text)
    if not counts:
        return ""
    allowed_letters = sum(counts[script] for script in allowed)
    foreign = Counter({script: n for script, n in counts.items() if script not in allowed and script != "LATIN"})
    if foreign and sum(foreign.values()) > allowed_letters + counts["LATIN"] * ("LATIN" not in allowed):
        return str(foreign.most_common(1)[0][0])
    return "" if allowed_letters else str(counts.most_common(1)[0][0])
