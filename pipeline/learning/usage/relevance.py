"""How well a tool fits a past request, by what became of it there and at requests that are near.

    relevance(r, d) = Σ near(r, q) × successes(q, d)  /  (Σ near(r, q) × examined(q, d) + DOUBT)
    near(r, q) = (cosine(r, q) - t) / (1 - t), nothing below the threshold t

The sums are over the past requests q.
A tool that a wrong call brought forward is offered for the requests near to it, is not called there, and is unlearned.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.usage.log import DOUBT, Evidence

_BATCH = 512  # requests whose nearness is in memory at once
_LEAST = 0.1  # a smaller relevance is no lesson


def relevances(
    evidence: Sequence[Mapping[int, Evidence]], vectors: NDArray[np.float32], threshold: float
) -> list[dict[int, float]]:
    """Return the relevance of the tools that succeeded at each request, by ordinal.

    `evidence` is by ordinal for each request, `vectors` float32 (requests, dim) are L2-normalised.
    """
    succeeded = {ordinal for of_request in evidence for ordinal, said in of_request.items() if said.successes}
    columns = {ordinal: column for column, ordinal in enumerate(sorted(succeeded))}
    successes = np.zeros((len(evidence), len(columns)), np.float32)
    examined = np.zeros_like(successes)
    for row, of_request in enumerate(evidence):
        for ordinal in of_request.keys() & columns.keys():
            said = of_request[ordinal]
            successes[row, columns[ordinal]] = said.successes
            examined[row, columns[ordinal]] = said.examined
    found: list[dict[int, float]] = []
    for begin in range(0, len(evidence), _BATCH):
        cosines = vectors[begin : begin + _BATCH] @ vectors.T
        near = np.clip((cosines - threshold) / (1 - threshold), 0, 1)
        relevance = np.clip((near @ successes) / (near @ examined + DOUBT), 0, 1)
        for row, of_request in enumerate(evidence[begin : begin + _BATCH]):
            by_tool = {
                ordinal: float(relevance[row, columns[ordinal]])
                for ordinal, said in sorted(of_request.items())
                if said.successes
            }
            found.append({ordinal: round(value, 4) for ordinal, value in by_tool.items() if value >= _LEAST})
    return found
