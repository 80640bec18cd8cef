"""English number and articles for the nouns of APIs ("an issue", "issues", "the weather"), and the lexicon's table."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

_PREPOSITIONS = frozenset(
    "as at by for from in into of on over per since to under until via with within without".split()
)
_WITHOUT_ARTICLE = frozenset("as by per via with without".split())
_CLAUSE = frozenset("what how where when which who".split())
# Exceptions to the rule by first letter: "a user", "an hour".
_CONSONANT_SOUND = ("uni", "use", "usa", "uti", "url", "eu", "one", "uuid", "uri", "ui", "us")
_VOWEL_SOUND = ("hour", "honest", "sms", "sql", "sdk", "rss", "mcp", "http", "html", "xml", "ssh", "ssl", "svg", "llm")


@cache
def load_lexicon() -> dict[str, Any]:
    """Return `lexicon.toml`: verbs, articles, pairs, nouns, classes and irregular plurals."""
    import tomllib  # here: a router needs the lexicon for few requests
    from importlib import resources

    text = resources.files("router.tools").joinpath("lexicon.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun phrase: `nouns`, of which the last is the head, and the words after it (`tail`: "for org", "by id")."""

    nouns: tuple[str, ...]
    tail: tuple[str, ...] = ()

    @classmethod
    def of(cls, words: Sequence[str]) -> "NounPhrase":
        """Return the noun phrase of words, with the tail from the first preposition on. Modifiers become singular."""
        cut = next((place for place, word in enumerate(words) if word in _PREPOSITIONS), len(words))
        nouns = [word for word in words[:cut] if word not in ("a", "an", "the", "my", "me", "all", "any")]
        stems = [word if word.endswith("ics") else singular(word) for word in nouns]
        # No repeats: `packages/list-packages`.
        modifiers = [stem for place, stem in enumerate(stems[:-1]) if stem not in stems[place + 1 :]]
        return cls((*modifiers, *nouns[-1:]), tuple(words[cut:]))

    @property
    def head(self) -> str:
        """Return the head noun; empty where there is none."""
        return self.nouns[-1] if self.nouns else ""

    @property
    def is_mass(self) -> bool:
        """Return whether the head is a mass noun, without a plural and without "a"."""
        return self.head in load_lexicon()["classes"]["mass"]

    @property
    def is_plural(self) -> bool:
        """Return whether the head is in the plural."""
        return not self.is_mass and singular(self.head) != self.head

    def in_class(self, name: str) -> bool:
        """Return whether the head is in a class of the lexicon, such as "person"."""
        return singular(self.head) in load_lexicon()["classes"][name]

    def one(self) -> "NounPhrase":
        """Return the phrase in the singular."""
        return self._with_head(singular(self.head))

    def all(self) -> "NounPhrase":
        """Return the phrase in the plural; with a mass noun, itself."""
        return self._with_head(plural(self.head))

    def _with_head(self, head: str) -> "NounPhrase":
        return self if self.is_mass or not self.nouns else NounPhrase((*self.nouns[:-1], head), self.tail)

    def bare(self) -> str:
        """Return the text without an article, but with "the" in the tail where it is usual: "for the org", "by id"."""
        words = [*self.nouns]
        starts = [place for place, word in enumerate(self.tail) if word in _PREPOSITIONS]
        for start, end in pairwise([*starts, len(self.tail)]):
            preposition, *rest = self.tail[start:end]
            last = NounPhrase(tuple(rest[-1:]))
            without = preposition in _WITHOUT_ARTICLE or not rest or last.is_plural or last.is_mass
            words += [preposition, *([] if without else ["the"]), *rest]
        return " ".join(words)

    def with_a(self) -> str:
        """Return the text with "a" or "an", where the phrase takes one."""
        text = self.bare()
        if not self.nouns or self.is_mass or self.is_plural:
            return text
        first = self.nouns[0]
        vowel = first.startswith(_VOWEL_SOUND) or (first[0] in "aeiou" and not first.startswith(_CONSONANT_SOUND))
        return f"{'an' if vowel else 'a'} {text}"

    def with_the(self) -> str:
        """Return the text with "the", or without for a mass noun that names no value: "the weather", "malware"."""
        without = not self.nouns or (self.is_mass and not self.in_class("value"))
        return self.bare() if without else f"the {self.bare()}"

    def synonyms(self) -> list["NounPhrase"]:
        """Return the phrase with synonyms of its noun, in the same number; empty for a compound.

        Nouns change their meaning in compounds: a storage account is not a storage profile.
        """
        if len(self.nouns) != 1:
            return []
        texts = load_lexicon()["nouns"].get(singular(self.head), [])
        phrases = [NounPhrase.of(text.split()) for text in texts if text[0] != "~" and text.split()[0] not in _CLAUSE]
        return [NounPhrase((p.all() if self.is_plural else p).nouns, (*p.tail, *self.tail)) for p in phrases]


@lru_cache(maxsize=65_536)
def singular(noun: str) -> str:
    """Return the singular of a noun."""
    table = load_lexicon()
    if noun in table["classes"]["singular"] or noun in table["classes"]["mass"]:
        return noun
    for irregular, irregular_plural in table["irregular"].items():
        if noun == irregular_plural:
            return str(irregular)
    if noun.endswith("ies") and len(noun) > 4:
        return "movie" if noun == "movies" else noun[:-3] + "y"
    if noun.endswith(("sses", "xes", "ches", "shes", "zzes")) or noun[:-2] in table["classes"]["singular"]:
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") and not noun.endswith(("ss", "ous")) and len(noun) > 3 else noun


def plural(noun: str) -> str:
    """Return the plural of a noun; a mass noun is returned unchanged."""
    table = load_lexicon()
    if noun in table["irregular"]:
        return str(table["irregular"][noun])
    if noun in table["classes"]["mass"] or singular(noun) != noun or (noun.endswith("s") and len(noun) < 4):
        return noun
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh", "z")) else "s")
