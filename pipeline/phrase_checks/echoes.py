"""Compare what was written for a tool with the remarks of its record, and tell which of these can be read."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.phrase_checks.subject import Remark
from router.tools.text_overlap import term_set

T = TypeVar("T")

_SHORTEST_CODE = 25  # characters of an unreadable remark that can carry a phrase. Shorter ones are formats
# The least share of a phrase's terms that the remarks together must have, where vectors see no echo: a phrase may be
# spread over parameters.
_SHARED = 0.75
_FEWEST_TERMS = 3
_VERBATIM = 0.9  # cosine
_REQUEST_WORDS = 4
_REQUEST_CHARACTERS = 20
_LONG_REMARK = 8  # words
# Rarer trigrams say nothing of a catalog's languages.
_FEWEST_TRIGRAMS = 3
# Texts that are counted: more of a large catalog add time and no trigrams.
_MOST_TEXTS = 20_000


@dataclass(frozen=True)
class EmbeddedRemarks:
    """Remarks of one record, their `vectors` (remarks, dim), L2-normalised, and the terms of its subject."""

    parts: Sequence[Remark]
    vectors: NDArray[np.float32]
    subject_terms: frozenset[str]

    @property
    def texts(self) -> list[str]:
        """Return the texts of the remarks."""
        return [part.text for part in self.parts]

    def where(self, mask: NDArray[np.bool_]) -> "EmbeddedRemarks":
        """Return those of the remarks where a mask is true."""
        return EmbeddedRemarks(chosen(self.parts, mask), self.vectors[mask], self.subject_terms)

    def repeated_by(self, vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return for each remark whether a text of vectors (texts, dim) repeats it word by word, or nearly."""
        return np.asarray((self.vectors @ vectors.T > _VERBATIM).any(axis=1), bool)

    def echoed_by(self, texts: Sequence[str], vectors: NDArray[np.float32], similarity: float) -> NDArray[np.bool_]:
        """Return for each text, of `vectors` (texts, dim), whether it repeats a remark or is made of their terms."""
        nearest: NDArray[np.float32] = (vectors @ self.vectors.T).max(axis=1)
        terms = term_set(" ".join(self.texts)) - self.subject_terms
        made: NDArray[np.bool_] = np.array([_made_of(text, terms) for text in texts], bool)
        return made | (nearest > similarity)

    def carry_requests(self, echoes: NDArray[np.float32]) -> bool:
        """Return whether texts of vectors (echoes, dim) repeat two requests, or a remark that has room for several.

        Several phrases that repeat one short remark are about it: "Only agents see it."
        """
        nearest = [self.parts[remark].text for remark in np.unique((echoes @ self.vectors.T).argmax(axis=1)).tolist()]
        return sum(map(_may_be_request, nearest)) > 1 or any(len(text.split()) >= _LONG_REMARK for text in nearest)


def _may_be_request(text: str) -> bool:
    if " " not in text:
        return len(text) >= _REQUEST_CHARACTERS // 2  # a language without spaces
    return len(text.split()) >= _REQUEST_WORDS and len(text) >= _REQUEST_CHARACTERS


def _made_of(text: str, terms: frozenset[str]) -> bool:
    own = term_set(text)
    return len(own) >= _FEWEST_TERMS and len(own & terms) >= _SHARED * len(own)


class Readability:
    """Says how much of a text is made of the trigrams that a catalog's subjects and phrases are made of."""

    def __init__(self, texts: Iterable[str]) -> None:
        counts: Counter[str] = Counter()
        for _, text in zip(range(_MOST_TEXTS), texts, strict=False):
            counts.update(_trigrams(text))
        self._known = frozenset(trigram for trigram, count in counts.items() if count >= _FEWEST_TRIGRAMS)

    def share(self, text: str) -> float:
        """Return the share of a text's trigrams that the catalog knows, 0 to 1. Ciphers and codes have below .6."""
        trigrams = _trigrams(text)
        return sum(trigram in self._known for trigram in trigrams) / len(trigrams)

    def codes(self, texts: Sequence[str], share: float) -> NDArray[np.bool_]:
        """Return for each text whether it can carry a phrase, and less than a share of it can be read."""
        return np.array([len(text) >= _SHORTEST_CODE and self.share(text) < share for text in texts], bool)


def _trigrams(text: str) -> list[str]:
    padded = f"  {text.casefold()} "
    return [padded[start : start + 3] for start in range(len(padded) - 2)]


def chosen(values: Sequence[T], mask: NDArray[np.bool_]) -> tuple[T, ...]:
    """Return the values where a mask is true."""
    return tuple(value for value, chosen in zip(values, mask.tolist(), strict=True) if chosen)
