"""Read what JSON and YAML repeat: a key that stands twice in one object, of which parsers keep only the last value."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from pipeline.sentences import named

_LEVELS = 3  # that are united: `paths`, a path, an operation's list. A limit, so that nested repeats stay cheap.
_SHOWN = 8


@dataclass(slots=True)
class RepeatedKeys:
    """The repeated keys of a document: objects and lists, read together, and values, of which the last counts."""

    together: dict[str, None] = field(default_factory=dict)
    lost: dict[str, None] = field(default_factory=dict)

    def object_of(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return the object of some pairs, in their order."""
        built = dict(pairs)
        return built if len(built) == len(pairs) else self._united(pairs, "", _LEVELS)

    def notices(self) -> Iterator[str]:
        """Yield what a person should know of the document; nothing where no key is repeated."""
        told = {"all of them are read together": self.together, "only the last of each is read": self.lost}
        for what, keys in told.items():
            if keys:
                yield f"keys that stand more than once in one object, {what}: {named(list(keys), _SHOWN)}"

    def _united(self, pairs: Iterable[tuple[str, Any]], place: str, levels: int) -> dict[str, Any]:
        groups: dict[str, list[Any]] = {}
        for key, value in pairs:
            groups.setdefault(key, []).append(value)
        return {key: self._one(values, f"{place}{key[:80]}", levels) for key, values in groups.items()}

    def _one(self, values: list[Any], place: str, levels: int) -> Any:
        """Return the one value of a key that has some."""
        if len(values) == 1:
            return values[0]
        if levels and all(isinstance(value, list) for value in values):
            self.together[place] = None
            joined = [*chain.from_iterable(values)]
            return [*dict.fromkeys(joined)] if all(isinstance(item, str) for item in joined) else joined
        if levels and all(isinstance(value, dict) for value in values) and not _contradict(values):
            self.together[place] = None
            return self._united(chain.from_iterable(value.items() for value in values), f"{place} › ", levels - 1)
        self.lost[place] = None
        return values[-1]


def _contradict(objects: list[dict[str, Any]]) -> bool:
    """Return whether objects have another value under the same key, neither of them an object or a list."""
    first: dict[str, Any] = {}
    pairs = chain.from_iterable(value.items() for value in objects)
    return any(first.setdefault(key, value) != value for key, value in pairs if not isinstance(value, dict | list))
