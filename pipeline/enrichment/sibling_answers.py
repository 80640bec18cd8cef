"""Find answers of one run that speak of siblings: of other tools of the same provider."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from router.expansion import Expansion
from router.record import ToolRecord
from router.text import identifier_words
from router.tools.text_overlap import record_texts, term_set

# See docs/decisions/phrase-checks.md.
_CLEAR_LEAD = 0.25  # of a sibling's words in an answer over the tool's own
_ANY_LEAD = 1e-9  # equal sums may differ in their last bits
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
        by_provider: dict[str, list[ToolRecord]] = defaultdict(list)
        for record in records:
            by_provider[record.provider or ""].append(record)
        # One that has no sibling says nothing.
        self._records = {provider: siblings for provider, siblings in by_provider.items() if len(siblings) > 1}
        self._words = cache(lambda provider: _Words(self._records[provider]))
        self._leads: dict[str, tuple[str, float]] = {}

    def add(self, key: str, record: ToolRecord, answer: Expansion) -> None:
        """Add an answer about a record."""
        if (provider := record.provider or "") in self._records:
            texts = (*answer.user_phrases, *answer.synonyms, *answer.related_concepts)
            self._leads[key] = provider, self._words(provider).lead(record, texts)

    def found(self) -> list[str]:
        """Return the keys of answers that speak of siblings; none where few do."""
        clear = Counter(provider for provider, lead in self._leads.values() if lead > _CLEAR_LEAD)
        asked = Counter(provider for provider, _ in self._leads.values())
        if clear.total() < _FEWEST or least_share(clear, asked) <= _SHARE:
            return []
        return [key for key, (_, lead) in self._leads.items() if lead > _ANY_LEAD]


class _Words:
    """The words of a provider's names and descriptions, each with its weight, and the tools that have it."""

    def __init__(self, records: Sequence[ToolRecord]) -> None:
        self._places = {record.tool_id: place for place, record in enumerate(records)}
        tools: dict[str, list[int]] = defaultdict(list)
        for place, record in enumerate(records):
            for word in term_set(" ".join((*identifier_words(record.name), record.description))):
                tools[word].append(place)
        self._tools = {word: np.array(places) for word, places in tools.items()}
        self._weights = {word: math.log((len(records) + 1) / (len(places) + 0.5)) for word, places in tools.items()}

    def lead(self, record: ToolRecord, texts: Iterable[str]) -> float:
        """Return how much more of the mean text a sibling has than the record, from -1 to 1."""
        shares: dict[str, float] = defaultdict(float)
        for text in texts:
            known = sorted(term_set(text) & self._weights.keys())
            whole = sum(self._weights[word] for word in known)
            for word in known:
                shares[word] += self._weights[word] / whole
        fits = np.zeros(len(self._places))
        for word, share in shares.items():
            fits[self._tools[word]] += share
        fits[self._places[record.tool_id]] = 0
        own = term_set(" ".join((*identifier_words(record.name), *record_texts(record))))
        supported = sum(share for word, share in shares.items() if word in own)
        return float(fits.max() - supported) / (sum(shares.values()) or 1.0)
