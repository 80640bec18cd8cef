"""Find answers of one run that speak of siblings: of other tools of the same provider."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from router.expansion import Expansion
from router.record import ToolRecord
from router.text import identifier_words
from router.tools.text_overlap import record_texts, term_set

# See docs/decisions/phrase-checks.md.
_CLEAR_LEAD = 0.25  # of a sibling's words in an answer over the tool's own
_FEWEST = 8  # answers with a clear lead, and more than this share
_SHARE = 0.25


def least_share(found: Counter[str], asked: Counter[str]) -> float:
    """Return the share of all that was found, or its mean over providers if that is less.

    One provider's careless tools, however many, do not speak for the others.
    """
    by_provider = [found[provider] / count for provider, count in asked.items()]
    return min(found.total() / asked.total(), sum(by_provider) / len(by_provider)) if asked else 0.0


class SiblingAnswers:
    """The answers of a run so far, by key.

    A single answer may share more words with a sibling by chance. Where many clearly do, the model answers for other
    tools, and an answer that has any lead is of the same evening.
    """

    def __init__(self, records: Iterable[ToolRecord]) -> None:
        """`records` are the catalog's."""
        self._records: dict[str, list[ToolRecord]] = defaultdict(list)
        for record in records:
            self._records[record.provider or ""].append(record)
        self._words: dict[str, _Words] = {}
        self._leads: dict[str, tuple[str, float]] = {}

    def add(self, key: str, record: ToolRecord, answer: Expansion) -> None:
        """Add an answer about a record; one that has no sibling says nothing."""
        provider = record.provider or ""
        if len(siblings := self._records[provider]) > 1:
            if provider not in self._words:
                self._words[provider] = _Words(siblings)
            texts = (*answer.user_phrases, *answer.synonyms, *answer.related_concepts)
            self._leads[key] = provider, self._words[provider].lead(record, texts)

    def found(self) -> list[str]:
        """Return the keys of answers that speak of siblings; none where few do."""
        clear = Counter(provider for provider, lead in self._leads.values() if lead > _CLEAR_LEAD)
        asked = Counter(provider for provider, _ in self._leads.values())
        if clear.total() < _FEWEST or least_share(clear, asked) <= _SHARE:
            return []
        return [key for key, (_, lead) in self._leads.items() if lead > 0]


class _Words:
    """The words of a provider's names and descriptions, each with its weight, and the tools that have it."""

    def __init__(self, records: Sequence[ToolRecord]) -> None:
        self._places = {record.tool_id: place for place, record in enumerate(records)}
        tools: dict[str, list[int]] = defaultdict(list)
        for place, record in enumerate(records):
            for word in term_set(" ".join((*identifier_words(record.name), record.description))):
                tools[word].append(place)
        self._tools: dict[str, NDArray[np.int64]] = {word: np.array(places) for word, places in tools.items()}
        self._weights = {word: math.log((len(records) + 1) / (len(places) + 0.5)) for word, places in tools.items()}

    def lead(self, record: ToolRecord, texts: Iterable[str]) -> float:
        """Return how much more of the mean text a sibling has than the record, from -1 to 1."""
        shares: dict[str, float] = defaultdict(float)
        for text in texts:
            known = term_set(text) & self._weights.keys()
            whole = sum(self._weights[word] for word in known)
            for word in known:
                shares[word] += self._weights[word] / whole
        if not shares:
            return 0.0
        fits = np.zeros(len(self._places))
        for word, share in shares.items():
            fits[self._tools[word]] += share
        fits[self._places[record.tool_id]] = 0
        own = term_set(" ".join((*identifier_words(record.name), *record_texts(record))))
        supported = sum(share for word, share in shares.items() if word in own)
        return float(fits.max() - supported) / sum(shares.values())
