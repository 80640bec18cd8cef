"""The form of a text in which patterns are sought: what a model reads, however the text is written."""

import html
import json
import re
import unicodedata
import urllib.parse
from functools import cache
from importlib import resources

from router.tools.trust.characters import strip_hidden

_MAX_ENCODINGS = 3  # one within the other, such as "&amp;lt;"
# "i.g.n.o.r.e", "i g n o r e" and "iGnOrE".
_SPELLED = re.compile(
    r"\b(?:[^\W\d_](?:(?:[^\w\s'<>]|_)[^\W\d_])+|[^\W\d_](?:\s[^\W\d_]){2,}|[A-Z]?(?:[a-z][A-Z])+[a-z]?)\b"
)
_TAG = re.compile(r"<!--[^<]*?-->|<[^<>]*>")
_LATIN_NAME = re.compile(r"\b(?:LATIN|INDICATOR SYMBOL) .{0,8}LETTER (?:SMALL CAPITAL )?([A-Z])(?: WITH |$)")
_UNSEEN = ("Mn", "Me", "Cf")


def readings(text: str) -> tuple[str, ...]:
    """Return the normal form of a text; where it has tags, which may stand within a word, also that without them."""
    for _ in range(_MAX_ENCODINGS):
        decoded = html.unescape(text) if "&" in text else text
        decoded = urllib.parse.unquote(decoded, errors="ignore") if "%" in decoded else decoded
        if decoded == text:
            break
        text = decoded
    text = _SPELLED.sub(lambda word: "".join(filter(str.isalpha, word.group())).lower(), fold(strip_hidden(text)))
    return (text, bare) if "<" in text and (bare := _TAG.sub("", text)) != text else (text,)


def fold(text: str) -> str:
    """Return a text in NFKC without marks, with Latin letters for those that look like them."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKD", text).translate(_FOLD))


class _Fold(dict[int, str]):
    """What stands for a character, by its code point; found when it is first met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if unicodedata.category(character) in _UNSEEN:
            folded = ""
        elif not (folded := character if character.isascii() else _latin_letter(character)):
            alike = unicodedata.normalize("NFKD", _lookalikes().get(character, ""))
            folded = "".join(c if c.isascii() else _latin_letter(c) for c in alike)
            folded = "I" if folded == "l" and character.isupper() else folded or character
        self[code] = folded
        return folded


_FOLD = _Fold()


def _latin_letter(character: str) -> str:
    """Return the letter that a character is a form of by its Unicode name, as `\u0142` is of l; else empty."""
    named = _LATIN_NAME.search(unicodedata.name(character, ""))
    return named[1].lower() if named else ""


@cache
def _lookalikes() -> dict[str, str]:
    """Return what characters look like, by Unicode's table of confusables: ASCII text where it has any."""
    table = json.loads(resources.files("confusable_homoglyphs").joinpath("confusables.json").read_bytes())
    return {
        character: next((row["c"] for row in rows if row["c"].isascii()), rows[0]["c"])
        for character, rows in table.items()
        if len(character) == 1
    }
