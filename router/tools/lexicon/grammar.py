"""English number and articles for the nouns of APIs: enough to say "an issue", "issues" and "the weather"."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Any

__all__ = ["NounPhrase", "load_lexicon", "plural", "singular"]

_PREPOSITIONS = frozenset(
    "as at by for from in into of on over per since to under until via with within without".split()
)
_WITHOUT_ARTICLE = frozenset("as by per via with without".split())
_CLAUSE = frozenset("what how where when which who".split())
# "a user", "an hour": by sound, not by letter.
_CONSONANT_SOUND = ("uni", "use", "usa", "uti", "url", "eu", "one", "uuid", "uri", "ui", "us")
_VOWEL_SOUND = ("hour", "honest", "sms", "sql", "sdk", "rss", "mcp", "http", "html", "xml", "ssh", "ssl", "svg", "llm")


@cache
def load_lexicon() -> dict[str, Any]:
    """Return `lexicon.toml`: verbs, articles, pairs, nouns, classes and irregular plurals."""
    text = resources.files("router.tools.lexicon").joinpath("lexicon.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun with what stands before it (`nouns`, the last is the head) and after it (`tail`: "for org", "by id")."""

    nouns: tuple[str, ...]
    tail: tuple[str, ...] = ()

    @classmethod
    def of(cls, words: Sequence[str]) -> "NounPhrase":
        """Cut words at the first preposition; of compound nouns only the last keeps its plural."""
        cut = next((place for place, word in enumerate(words) if word in _PREPOSITIONS), len(words))
        nouns = [word for word in words[:cut] if word not in ("a", "an", "the", "my", "me", "all", "any")]
        stems = [word if word.endswith("ics") else singular(word) for word in nouns]
        # `packages/list-packages`: said once.
        modifiers = [stem for place, stem in enumerate(stems[:-1]) if stem not in stems[place + 1 :]]
        return cls((*modifiers, *nouns[-1:]), tuple(words[cut:]))

    @property
    def head(self) -> str:
        """The noun itself; empty where there is none."""
        return self.nouns[-1] if self.nouns else ""

    @property
    def is_mass(self) -> bool:
        """Return whether it has neither plural nor "a"."""
        return self.head in load_lexicon()["classes"]["mass"]

    @property
    def is_plural(self) -> bool:
        """Return whether it stands for several."""
        return not self.is_mass and singular(self.head) != self.head

    def in_class(self, name: str) -> bool:
        """Return whether the noun is of a class of the lexicon."""
        return singular(self.head) in load_lexicon()["classes"][name]

    def one(self) -> "NounPhrase":
        """The same in the singular."""
        return self if self.is_mass else self.with_head(singular(self.head))

    def all(self) -> "NounPhrase":
        """The same in the plural; a mass noun as it is."""
        return self if self.is_mass else self.with_head(plural(self.head))

    def with_head(self, head: str) -> "NounPhrase":
        """The same with another noun; itself where it has none."""
        return self if not self.nouns else NounPhrase((*self.nouns[:-1], head), self.tail)

    def bare(self) -> str:
        """Without an article before it."""
        return " ".join((*self.nouns, *_spoken(self.tail)))

    def of_tail(self) -> "NounPhrase":
        """Return what follows the first preposition of the tail."""
        return NounPhrase.of(self.tail[1:])

    def with_a(self) -> str:
        """With "a" or "an" where one can be said."""
        text = self.bare()
        if not self.nouns or self.is_mass or self.is_plural:
            return text
        first = self.nouns[0]
        vowel = first.startswith(_VOWEL_SOUND) or (first[0] in "aeiou" and not first.startswith(_CONSONANT_SOUND))
        return f"{'an' if vowel else 'a'} {text}"

    def with_the(self) -> str:
        """With "the"; a mass noun that is no value without: "the weather", "malware"."""
        bare = not self.nouns or (self.is_mass and not self.in_class("value"))
        return self.bare() if bare else f"the {self.bare()}"

    def others(self) -> list["NounPhrase"]:
        """The same said with other words for the noun, in the same number; none for a noun of a compound.

        Part of a compound is seldom the word that it is alone: a storage account is no storage profile.
        """
        if len(self.nouns) != 1:
            return []
        said = load_lexicon()["nouns"].get(singular(self.head), [])
        same = [text for text in said if not text.startswith("~") and text.split()[0] not in _CLAUSE]
        things = [NounPhrase.of(text.split()) for text in same]
        return [
            NounPhrase((thing.all() if self.is_plural else thing).nouns, (*thing.tail, *self.tail)) for thing in things
        ]


def _spoken(tail: Sequence[str]) -> list[str]:
    """Return a tail with "the" where people say it: "for the org", "by id", "to contacts"."""
    said: list[str] = []
    starts = [place for place, word in enumerate(tail) if word in _PREPOSITIONS]
    for start, end in pairwise([*starts, len(tail)]):
        preposition, *rest = tail[start:end]
        bare = (
            preposition in _WITHOUT_ARTICLE
            or not rest
            or NounPhrase((rest[-1],)).is_plural
            or NounPhrase((rest[-1],)).is_mass
        )
        said += [preposition, *([] if bare else ["the"]), *rest]
    return said


def singular(noun: str) -> str:
    """Return the singular of a noun, itself where it is one."""
    table = load_lexicon()
    if noun in table["classes"]["singular"] or noun in table["classes"]["mass"]:
        return noun
    for one, several in table["irregular"].items():
        if noun == several:
            return str(one)
    if noun.endswith("ies") and len(noun) > 4:
        return "movie" if noun == "movies" else noun[:-3] + "y"
    if noun.endswith(("sses", "xes", "ches", "shes", "zzes")) or noun[:-2] in table["classes"]["singular"]:
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") and not noun.endswith(("ss", "ous")) and len(noun) > 3 else noun


def plural(noun: str) -> str:
    """Return the plural of a noun, itself where it is one or has none."""
    table = load_lexicon()
    if noun in table["irregular"]:
        return str(table["irregular"][noun])
    if noun in table["classes"]["mass"] or singular(noun) != noun or (noun.endswith("s") and len(noun) < 4):
        return noun
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh", "z")) else "s")
