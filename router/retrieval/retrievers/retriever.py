"""What a retriever is: the protocol, the query that it takes, and the tools that it may return."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from router.retrieval.retrievers.moments import DenseView

_NO_SPREAD = 1e-6  # the precision that cosines are rounded to


class Ranking(msgspec.Struct, frozen=True):
    """Tools by descending score; ties by ascending ordinal, which is the order of tool ids.

    `ordinals` int64 and `scores` float64, both of shape (n,): row i has rank i + 1. `center` and `spread` are the mean
    and the standard deviation of the query's scores over the whole catalog. A retriever may take as `center` the score
    of a tool that has nothing in common with the query. `share_read` is how much of the query the list could read, from
    0 to 1.
    """

    ordinals: NDArray[np.int64]
    scores: NDArray[np.float64]
    center: float = 0.0
    spread: float = 1.0
    share_read: float = 1.0

    @classmethod
    def of(
        cls, ordinals: NDArray[np.int64], scores: NDArray[np.float64], center: float = 0.0, spread: float = 1.0
    ) -> "Ranking":
        """Sort candidates into a ranking. A spread near 0 does not distinguish tools and becomes 1."""
        order = np.lexsort((ordinals, -scores))
        return cls(ordinals[order], scores[order], center, spread if spread > _NO_SPREAD else 1.0)

    def cut(self, depth: int) -> "Ranking":
        """Return the ranking's first `depth` tools."""
        return Ranking(self.ordinals[:depth], self.scores[:depth], self.center, self.spread, self.share_read)

    def standard(self) -> NDArray[np.float64]:
        """Return z-scores, shape (n,): spreads above the center, 0 for those below it."""
        return np.maximum(self.scores - self.center, 0.0) / self.spread

    def __len__(self) -> int:
        """Return the number of tools."""
        return len(self.ordinals)

    def rank_of(self, ordinal: int) -> int | None:
        """Return the rank of a tool, from 1; None where it is not in the ranking."""
        rows = np.flatnonzero(self.ordinals == ordinal)
        return int(rows[0]) + 1 if len(rows) else None


EMPTY = Ranking(np.empty(0, np.int64), np.empty(0, np.float64))


# The share of a whole request's tools that a step's lists hold, and of its candidates that are scored for a step.
# See docs/decisions/steps.md.
STEP_SHARE = 0.3


# Terms of a query in another language beside its English ones, with their weights, where a word of both has 1.
Forms = Mapping[str, float]
NO_FORMS: Forms = {}


class EncodedQuery(msgspec.Struct, frozen=True):
    """A text as retrievers read it.

    `terms` are the English terms of the lexical lists. `vector`, float32 (dim,), is the encoder's; `adapted_vector` has
    passed the query adapter and ranks the dense list, by `dense_view`. Both vectors are None where no list needs one.
    `share_read` is how much of the text the encoder reads, from 0 to 1. `forms` are further terms of a text in another
    language. `is_step` tells that it is a step of a request, of which an answer takes the first few tools: STEP_SHARE
    of the candidates are scored for it.
    """

    text: str
    terms: Sequence[str]
    vector: NDArray[np.float32] | None = None
    adapted_vector: NDArray[np.float32] | None = None
    dense_view: DenseView = DenseView.DOCUMENT
    is_step: bool = False
    share_read: float = 1.0
    forms: Forms = msgspec.field(default_factory=dict)


class Admitted(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The tools that filters leave to a request: `mask` bool (tools,), by ordinal.

    Retrievers apply it before they cut to a depth, so a filter that leaves three of ten thousand tools finds all three.
    """

    mask: NDArray[np.bool_]

    @cached_property
    def ordinals(self) -> NDArray[np.int64]:
        """Return the admitted tools, ascending."""
        return np.flatnonzero(self.mask)

    @cached_property
    def share(self) -> float:
        """Return the admitted share of the catalog."""
        return len(self.ordinals) / max(len(self.mask), 1)

    def of(self, ordinals: NDArray[Any]) -> NDArray[Any]:
        """Return the admitted ones of some ordinals, in their order."""
        admitted: NDArray[Any] = ordinals[self.mask[ordinals]]
        return admitted

    def __len__(self) -> int:
        """Return how many tools are admitted."""
        return len(self.ordinals)


class Retriever(Protocol):
    """One signal of a snapshot: ranks its tools for a query. Safe to call from many threads.

    `router.retrieval.registry` lists how each signal's retriever is opened.
    """

    @property
    def needs_vector(self) -> bool:
        """Whether it reads a query's vectors. It is not called with a query that has none."""
        ...

    def rank(self, query: EncodedQuery, depth: int, admitted: Admitted | None = None) -> Ranking:
        """Return the `depth` best of the admitted tools, or of all; fewer where fewer match."""
        ...
