"""What a build drops of the lexicon's texts, dropped here too: so the same tools rank alike, built or in memory.

What a build checks beside that, the names of other tools and operations that a record does not tell of, is for texts
that a model wrote: the lexicon says nothing that the record does not.
"""

from collections.abc import Sequence
from dataclasses import replace

from router.expansion import Expansion
from router.repeats import repeated
from router.trust.speech import spoken

_LISTS = ("user_phrases", "synonyms", "related_concepts", "task_categories")


def screened(expansion: Expansion) -> Expansion:
    """Return an expansion without texts that repeat others, speak to the model, or are one letter."""
    return replace(
        expansion,
        when_to_use=expansion.when_to_use if _says_something(expansion.when_to_use) else "",
        **{name: _kept(getattr(expansion, name)) for name in _LISTS},
    )


def _kept(texts: Sequence[str]) -> tuple[str, ...]:
    fit = [text for text in texts if _says_something(text)]
    again = repeated(fit)
    return tuple(text for place, text in enumerate(fit) if place not in again)


def _says_something(text: str) -> bool:
    return (len(text) > 1 or not text.isascii()) and spoken(text) is None
