"""The loss of a batch: sentence-transformers' MultipleNegativesRankingLoss, each tool encoded once."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.encoder.pairs import TrainingPairs

_RUN = 24  # texts of one run


def batch_loss(model: Any, ranking_loss: Any, pairs: TrainingPairs, batch: NDArray[np.int64], prefix: str) -> Any:
    """Return the mean loss over the pairs of a batch, a torch scalar; `prefix` is put before each request.

    The loss wants another tool in each row, and a batch has several requests of a tool: it is summed over rounds, and
    the tools of other rounds are negatives like the rest.
    """
    import torch

    tools, places = np.unique(pairs.owners[batch], return_inverse=True)

    documents = embedded(model, [pairs.tools[tool] for tool in tools.tolist()])
    requests = embedded(model, [prefix + pairs.requests[pair] for pair in batch.tolist()])
    total = torch.zeros(())
    for rows in rounds(places):
        others = np.setdiff1d(np.arange(len(tools)), places[rows])
        own, rest = documents[torch.from_numpy(places[rows])], documents[torch.from_numpy(others)]
        columns = [requests[torch.from_numpy(rows)], own, rest]
        total = total + ranking_loss.compute_loss_from_embeddings(columns, None) * (len(rows) / len(batch))
    return total


def embedded(model: Any, texts: Sequence[str]) -> Any:
    """Return the vectors of texts, a float32 tensor of shape (texts, dim) that gradients flow through.

    Texts of like length are run together: padding would be half of the work.
    """
    import torch

    order = np.argsort([len(text) for text in texts], kind="stable")
    runs = np.array_split(order, -(-len(texts) // _RUN))
    vectors = [model(model.preprocess([texts[row] for row in run.tolist()]))["sentence_embedding"] for run in runs]
    return torch.cat(vectors).float()[torch.from_numpy(np.argsort(order, kind="stable"))]


def rounds(places: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield rows of a batch in which each tool occurs once: the first pair of each tool, then the second ones."""
    order = np.argsort(places, kind="stable")
    number = np.empty(len(places), np.int64)
    number[order] = np.arange(len(places)) - np.searchsorted(places[order], places[order])
    for count in range(int(number.max()) + 1):
        yield np.flatnonzero(number == count)
