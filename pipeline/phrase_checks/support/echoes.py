"""Find phrases that repeat a remark of the record which is about something else than the tool."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.tools.text_overlap import term_set

# The least share of a phrase's terms that the remarks together must have, where vectors see no echo: a phrase may be
# spread over parameters.
_SHARED = 0.75
_FEWEST_TERMS = 3
_VERBATIM = 0.9  # cosine
_REQUEST_WORDS = 4
_REQUEST_CHARACTERS = 20
_LONG_REMARK = 8  # words


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
