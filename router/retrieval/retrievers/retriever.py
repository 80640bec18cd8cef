"""What a retriever is: the protocol, the query that it takes, and the tools that it may return."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from router.retrieval.retrievers.ranking import Ranking
from router.retrieval.retrievers.views import DenseView

# The share of a whole request's tools that a step's lists hold, and of its candidates that are scored for a step.
# See docs/decisions/0117-shorter-lists-of-steps.md.
STEP_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class EncodedQuery:
    """A text as retrievers read it.

    `terms` are the English terms of the lexical lists. `vector`, float32 (dim,), is the encoder's; `adapted_vector` has
    passed the query adapter and ranks the dense list, by `dense_view`. Both vectors are None where no list needs one.
    `is_step` tells that it is a step of a request, of which an answer takes the first few tools: STEP_SHARE of the
    candidates are scored for it.
    """

    text: str
    terms: Sequence[str]
    vector: NDArray[np.float32] | None = None
    adapted_vector: NDArray[np.float32] | None = None
    dense_view: DenseView = DenseView.DOCUMENT
    is_step: bool = False


@dataclass(frozen=True, eq=False)
class Admitted:
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
