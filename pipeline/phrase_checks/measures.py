"""Measures of a text against its tool's record: fit to the subject, echoes of a remark, and whether it is readable.

A text is readable by the trigrams of characters that a catalog is made of: ciphers and codes have few of them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.phrase_checks.vectors import ScoreDistribution
from router.tools.text_overlap import term_set

# The least share of a phrase's terms that the remarks together must have, where vectors see no echo: a phrase may be
# spread over parameters.
_SHARED = 0.75
_FEWEST_TERMS = 3
_VERBATIM = 0.9  # cosine
_REQUEST_WORDS = 4
_REQUEST_CHARACTERS = 20
_LONG_REMARK = 8  # words
# Rarer trigrams say nothing of a catalog's languages.
_FEWEST = 3
# Texts that are counted: more of a large catalog add time and no trigrams.
_MOST_TEXTS = 20_000


class SubjectFit:
    """The subjects of a catalog's tools, vectors of shape (tools, dim), L2-normalised, to which texts fit or do not."""

    def __init__(self, subjects: NDArray[np.float32]) -> None:
        self._subjects = subjects
        self._distribution = ScoreDistribution.of(subjects)

    def of(self, vectors: NDArray[np.float32], owners: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return by how many standard deviations texts (rows, dim) fit their owners' subjects (rows,) above the mean.

        The mean and the deviation are those of the text's cosines with all subjects of the catalog.
        """
        subjects = self._subjects[owners]
        own = np.einsum("ij,ij->i", vectors, subjects)
        return self._distribution.fit_and_lead(vectors, subjects, own, own)[0]

    def of_one(self, vectors: NDArray[np.float32], owner: int) -> NDArray[np.float64]:
        """Return how well texts (rows, dim) fit one tool's subject."""
        return self.of(vectors, np.full(len(vectors), owner, np.int64))


@dataclass(frozen=True)
class EmbeddedRemarks:
    """Remarks of one record: texts, and `vectors` (remarks, dim), L2-normalised."""

    texts: Sequence[str]
    vectors: NDArray[np.float32]
    subject_terms: frozenset[str]

    def where(self, mask: NDArray[np.bool_]) -> "EmbeddedRemarks":
        """Return the remarks where a mask is true."""
        texts = [text for text, chosen in zip(self.texts, mask.tolist(), strict=True) if chosen]
        return EmbeddedRemarks(texts, self.vectors[mask], self.subject_terms)

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
        nearest = [self.texts[remark] for remark in np.unique((echoes @ self.vectors.T).argmax(axis=1)).tolist()]
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
        self._known = frozenset(trigram for trigram, count in counts.items() if count >= _FEWEST)

    def share(self, text: str) -> float:
        """Return the share of a text's trigrams that the catalog knows, 0 to 1. Ciphers and codes have below .6."""
        trigrams = _trigrams(text)
        return sum(trigram in self._known for trigram in trigrams) / len(trigrams)


def _trigrams(text: str) -> list[str]:
    padded = f"  {text.casefold()} "
    return [padded[start : start + 3] for start in range(len(padded) - 2)]
