"""The nouns of APIs and their number ("issue", "issues", "weather"), and the lexicon's table."""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import msgspec

_PREPOSITIONS = frozenset(
    "as at by for from in into of on over per since to under until via with within without".split()
)


@cache
def load_lexicon() -> dict[str, Any]:
    """Return `lexicon.toml`: verbs, nouns, classes and irregular plurals."""
    import tomllib  # here: a router needs the lexicon for few requests
    from importlib import resources

    text = resources.files("router.tools").joinpath("lexicon.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


class NounPhrase(msgspec.Struct, frozen=True):
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
    def is_plural(self) -> bool:
        """Return whether the head is in the plural."""
        return singular(self.head) != self.head

    @property
    def text(self) -> str:
        """Return the words; empty where there is none."""
        return " ".join((*self.nouns, *self.tail))

    def one(self) -> "NounPhrase":
        """Return the phrase in the singular; with a mass noun, itself."""
        return NounPhrase((*self.nouns[:-1], singular(self.head)), self.tail) if self.nouns else self


@lru_cache(maxsize=65_536)
def singular(noun: str) -> str:
    """Return the singular of a noun; a mass noun, which has no plural, as it is."""
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
