"""Cosines of several queries with the tools that are candidates of each: the steps of a request have many in common."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from router.retrieval.retrievers.vectors import ScorableVectors

# Queries compared at once. Tools are grouped by the queries that they are candidates of, and n queries can make
# 2^n - 1 groups: many small ones would take longer than they save.
_AT_ONCE = 4

# Tools; their vectors' cosines, tool by tool; and the offsets (tools + 1,) where each tool's cosines begin.
ToolCosines = tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]


def cosines_of_each(
    stored: ScorableVectors, vectors: NDArray[np.float32], candidates: Sequence[NDArray[np.int64]]
) -> Iterator[ToolCosines]:
    """Yield for each query its candidates with the cosines of all their vectors, in no particular order.

    `vectors` are the queries', of shape (queries, dim); `candidates` the ordinals of each query, each one once. A tool
    that is a candidate of several queries is read once for up to four of them.
    """
    for first in range(0, len(vectors), _AT_ONCE):
        group = slice(first, first + _AT_ONCE)
        yield from _cosines_of_few(stored, vectors[group], candidates[group])


def _cosines_of_few(
    stored: ScorableVectors, vectors: NDArray[np.float32], candidates: Sequence[NDArray[np.int64]]
) -> list[ToolCosines]:
    found: list[list[ToolCosines]] = [[] for _ in candidates]
    for queries, tools in _by_queries(candidates):
        rows, offsets = stored.places(tools)
        for query, cosines in zip(queries, stored.products_of_each(rows, vectors[queries]), strict=True):
            found[query].append((tools, cosines, offsets))
    return [_joined(parts) for parts in found]


def _by_queries(candidates: Sequence[NDArray[np.int64]]) -> Iterator[tuple[list[int], NDArray[np.int64]]]:
    """Yield the tools that are candidates of the same queries together, with the indices of these queries."""
    tools, places = np.unique(np.concatenate(candidates), return_inverse=True)
    bits = np.repeat(1 << np.arange(len(candidates)), [len(ordinals) for ordinals in candidates])
    queries_of = np.bincount(places, bits, len(tools)).astype(np.int64)  # a bit for each query; exact in float64
    order = np.argsort(queries_of, kind="stable")
    bounds = np.searchsorted(queries_of[order], np.arange(1, (1 << len(candidates)) + 1))
    for code, (first, last) in enumerate(pairwise(bounds.tolist()), start=1):
        if first < last:
            yield [query for query in range(len(candidates)) if code >> query & 1], tools[order[first:last]]


def _joined(parts: Sequence[ToolCosines]) -> ToolCosines:
    """Return the parts of one query's candidates as one; empty arrays where it has none."""
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.float32), np.zeros(1, np.int64)
    tools, cosines = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    sizes = np.concatenate([np.diff(offsets) for _, _, offsets in parts])
    return tools, cosines, np.concatenate([[0], np.cumsum(sizes)])
