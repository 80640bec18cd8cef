"""Control characters, hidden Unicode, foreign letters: what nobody sees, or what no text of the language holds.

Joiners, direction marks and variation selectors are letters' helpers in some scripts and in emoji; they are hidden text
anywhere else.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache

# Control, format, private and surrogate characters, non-characters, and the blanks that count as letters or marks.
_SPECIAL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
_JOINER = re.compile("[\u200c\u200d]")
_DIRECTION = re.compile("[\u200e\u200f\u061c]")
_SELECTOR = re.compile("[\ufe00-\ufe0f]")
_IDEOGRAPH_SELECTOR = re.compile("[\ufe00-\ufe0d\U000e0100-\U000e01ef]")
_MONGOLIAN_SELECTOR = re.compile("[\u180b-\u180f]")
# Scripts whose letters join, or need telling not to: Arabic, Syriac, the Indic scripts, Myanmar, Khmer, Mongolian.
_JOINING = re.compile("[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefe]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_IDEOGRAPH = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_KEYCAPS = "#*0123456789"
# Cyrillic within a Latin word, or Latin within a Cyrillic one: p\u0430ypal. Greek does so honestly (\u03bcm).
_MIXED = re.compile("[A-Za-z][\u0400-\u04ff]|[\u0400-\u04ff][A-Za-z]")
_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0408\u0405",
    "aeopcyxijshdqwABEKMHOPCTXIJS",
)
_CYRILLIC_WORD = re.compile("[\u0400-\u052f]+")
# Text for machines alone: tag characters, a row of variation selectors (bytes), words turned round.
_SMUGGLED = re.compile("[\U000e0001-\U000e007f]|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3}|[\u202d\u202e]")


def first_hidden_character(text: str) -> str:
    """The first hidden character of a text, as U+200B, or the first place of mixed scripts; else empty."""
    if text.isascii() and text.isprintable():
        return ""
    for found in _SPECIAL.finditer(text):
        if not _belongs(text, found.start()):
            return f"U+{ord(found.group()):04X}"
    return _disguised(text)


def first_smuggled_character(text: str) -> str:
    """The first trace of text that is written for machines alone, as U+E0041; else empty. No script needs any."""
    found = None if text.isascii() else _SMUGGLED.search(text)
    return f"U+{ord(found.group()[0]):04X}" if found else ""


def fold_lookalikes(text: str) -> str:
    """A text with the Cyrillic letters that pass for Latin ones as the letters that they pass for."""
    return text.translate(_LOOKALIKES) if _disguised(text) else text


def _disguised(text: str) -> str:
    """A place where scripts are mixed within a word, or a word of nothing but look-alikes among Latin ones."""
    if mixed := _MIXED.search(text):
        return mixed.group()
    words = _CYRILLIC_WORD.findall(text)
    if words and re.search("[A-Za-z]", text) and all(word.translate(_LOOKALIKES).isascii() for word in words):
        return str(words[0])
    return ""


def strip_hidden(text: str) -> str:
    """A text without its hidden characters; control characters become spaces."""
    if text.isascii() and text.isprintable():
        return text

    def shown(found: re.Match[str]) -> str:
        if _belongs(text, found.start()):
            return found.group()
        return " " if unicodedata.category(found.group()) == "Cc" else ""

    return _SPECIAL.sub(shown, text)


def _belongs(text: str, at: int) -> bool:
    """Whether a special character does what it is for: it stands alone, beside a character that takes it."""
    character = text[at]
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if _JOINER.match(character):
        emoji = character == "\u200d" and _is_emoji(before) and _is_emoji(after)
        return emoji or bool(_JOINING.match(before))
    if _DIRECTION.match(character):
        return bool(_RIGHT_TO_LEFT.search(text)) and not _DIRECTION.match(before)
    if _IDEOGRAPH_SELECTOR.match(character) and _IDEOGRAPH.match(before):
        return True
    if _MONGOLIAN_SELECTOR.match(character):
        return "\u1800" <= before <= "\u18af" and not _MONGOLIAN_SELECTOR.match(before)
    if character in "\ufe0e\ufe0f":
        return before in _KEYCAPS or unicodedata.category(before)[0] == "S" if before else False
    return False


def _is_emoji(character: str) -> bool:
    return bool(character) and (character == "\ufe0f" or unicodedata.category(character) in ("So", "Sk", "Cn"))


def count_scripts(text: str) -> Counter[str]:
    """How many letters of each script a text holds, by Unicode's first word for them: LATIN, CYRILLIC, CJK, HANGUL."""
    if text.isascii():
        return Counter(LATIN=sum(map(str.isalpha, text)))
    return Counter(_script(character) for character in text if character.isalpha())


@cache
def _script(letter: str) -> str:
    return unicodedata.name(letter, "UNKNOWN").replace("FULLWIDTH ", "").replace("HALFWIDTH ", "").split()[0]


# Every other language is taken to be written in Latin letters.
_SCRIPTS_OF = {
    **dict.fromkeys(("ru", "uk", "be", "bg", "mk", "kk", "ky", "mn", "tg"), ("CYRILLIC",)),
    **dict.fromkeys(("sr", "uz", "az"), ("CYRILLIC", "LATIN")),
    **dict.fromkeys(("ar", "fa", "ur", "ps"), ("ARABIC",)),
    **dict.fromkeys(("hi", "mr", "ne", "sa"), ("DEVANAGARI",)),
    "zh": ("CJK",),
    "ja": ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"),
    "ko": ("HANGUL", "CJK"),
    "el": ("GREEK",),
    "he": ("HEBREW",),
    "yi": ("HEBREW",),
    "th": ("THAI",),
    "lo": ("LAO",),
    "km": ("KHMER",),
    "my": ("MYANMAR",),
    "ka": ("GEORGIAN",),
    "hy": ("ARMENIAN",),
    "bn": ("BENGALI",),
    "as": ("BENGALI",),
    "pa": ("GURMUKHI",),
    "gu": ("GUJARATI",),
    "or": ("ORIYA",),
    "ta": ("TAMIL",),
    "te": ("TELUGU",),
    "kn": ("KANNADA",),
    "ml": ("MALAYALAM",),
    "si": ("SINHALA",),
    "am": ("ETHIOPIC",),
}


def scripts_of_languages(languages: Iterable[str]) -> frozenset[str]:
    """The scripts that languages are written in, by their codes: `zh-TW` is as `zh`."""
    codes = (language.casefold().replace("_", "-").split("-")[0] for language in languages)
    return frozenset(script for code in codes for script in _SCRIPTS_OF.get(code, ("LATIN",)))


def foreign_script(text: str, allowed: frozenset[str]) -> str:
    """The script that most letters of a text are in, where that is none of the allowed; else empty.

    Latin words (names, units, code) are at home in every language, but no text of another script is made of them alone.
    """
    if text.isascii() and "LATIN" in allowed:
        return ""
    found = count_scripts(text)
    if not found:
        return ""
    own = sum(found[script] for script in allowed)
    strange = Counter({script: n for script, n in found.items() if script not in allowed and script != "LATIN"})
    if strange and sum(strange.values()) > own + found["LATIN"] * ("LATIN" not in allowed):
        return str(strange.most_common(1)[0][0])
    return "" if own else str(found.most_common(1)[0][0])
