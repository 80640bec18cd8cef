"""The expansion of a tool: phrases and words that people use when they need it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from router.text import ENGLISH, LANGUAGES

_MAX_PHRASES = 12
_MAX_TERMS = 24
_MAX_FACTS = 6
_MAX_LENGTH = 200
_SPACE = re.compile(r"\s+")
_LISTS = ("user_phrases", "synonyms", "related_concepts", "task_categories")
_FACTS = ("requires", "provides")


@dataclass(frozen=True, slots=True)
class Expansion:
    """Text about one tool, generated offline. `user_phrases` are requests in the words of users.

    All of it is English except `translations`, which maps a language code to user phrases in that language. `requires`
    says what a call must have and a person would not say, `provides` what the tool finds by words: evidence for
    prerequisites, which no search reads.
    """

    when_to_use: str
    user_phrases: tuple[str, ...]
    synonyms: tuple[str, ...] = ()
    related_concepts: tuple[str, ...] = ()
    task_categories: tuple[str, ...] = ()
    translations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    requires: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, of which `from_json` makes an equal expansion."""
        # Not dataclasses.asdict, which copies each text: a build hashes every answer three times.
        row: dict[str, Any] = {"when_to_use": self.when_to_use, **{name: getattr(self, name) for name in _LISTS}}
        # Omitted where empty, so that the hashes of expansions without them do not change.
        if self.translations:
            row["translations"] = dict(self.translations)
        return row | {name: texts for name in _FACTS if (texts := getattr(self, name))}

    def translated(self, translations: Mapping[str, tuple[str, ...]]) -> "Expansion":
        """Return it with phrases in further languages."""
        return replace(self, translations=dict(sorted({**self.translations, **translations}.items())))

    @classmethod
    def from_json(cls, row: object) -> "Expansion":
        """Return the expansion of a generator's answer: one line per text, without repeats, within limits.

        Raises ValueError, which names the field, where a field has the wrong type or no phrase is left.
        """
        if not isinstance(row, Mapping):
            raise ValueError("the expansion is not an object")
        when = row.get("when_to_use") or ""
        if not isinstance(when, str):
            raise ValueError("when_to_use is not a text")
        lists = {name: _texts(row.get(name) or (), name) for name in _LISTS}
        phrases = _clean(lists["user_phrases"], _MAX_PHRASES)
        if not phrases:
            raise ValueError("user_phrases holds no phrase")
        rest = {name: _clean(lists[name], _MAX_TERMS) for name in _LISTS[1:]}
        translations = _translations(row.get("translations"))
        facts = {name: _clean(_texts(row.get(name) or (), name), _MAX_FACTS) for name in _FACTS}
        return cls(_line(when, 3 * _MAX_LENGTH), phrases, **rest, translations=translations, **facts)


def _translations(value: object) -> dict[str, tuple[str, ...]]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError("translations is not an object of languages")
    translations = {}
    for language in value:
        if language == ENGLISH:
            raise ValueError(f"translations.{ENGLISH} is not a translation: English phrases belong in user_phrases")
        if language not in LANGUAGES:
            raise ValueError(f"translations: {language!r:.40} is not one of the languages {' '.join(LANGUAGES)}")
        texts = _texts(value[language] or (), f"translations.{language}")
        if phrases := _clean(texts, _MAX_PHRASES):
            translations[language] = phrases
    return dict(sorted(translations.items()))


def _texts(value: object, name: str) -> Iterable[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{name} is not a list of texts")
    return value


def _line(text: str, limit: int) -> str:
    # Half of a surrogate pair cannot be stored. The last rstrip removes the space where the cut falls between words.
    storable = text.encode("utf-8", "replace").decode("utf-8")
    return _SPACE.sub(" ", storable).strip()[:limit].rstrip()


def _clean(texts: Iterable[str], limit: int) -> tuple[str, ...]:
    lines: dict[str, str] = {}  # by their case-folded form
    for text in texts:
        line = _line(text, _MAX_LENGTH)
        if line:
            lines.setdefault(line.casefold(), line)
    return tuple(lines.values())[:limit]
