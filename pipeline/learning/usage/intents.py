"""What past requests teach: how much of each the catalog's own words do not say, and from where on one is near.

Measured on Azure MCP, UltraTool, MetaTool, ToolPicker and catalogs/demo, half of the judged requests given as past ones
and the other half asked (requests of a cosine past .95 stay together; five draws); then with a random half of the tools
in the log and the requests for the other half asked, which past requests can only harm. nDCG@10 by the default recipe:

                                                     gain in each set                mean    harm, mean   worst
    k = 5, sum of cosines (ToolPicker's), weight .5  -.004 .054 .007 -.001 -.003     .0107   -.0086       -.024
    k = 20, past .5, sum of cosines, weight .5       -.003 .084 .007  .000  .000     .0176   -.0114       -.030
    the request as one more phrase of its tools      -.013 .071 .039  .002 -.001     .0198   -.0164       -.037
    with lessons, and a threshold by the background:
      weight .5                                       .000 .044 .003  .000  .001     .0096   -.0003       -.001
      weight 1                                        .001 .066 .006  .000  .001     .0149   -.0011       -.002
      weight 2                                        .002 .080 .013  .000  .002     .0194   -.0021       -.004
    weight 1, a tenth of the log wrong at random      .001 .062 .006  .000  .001     .0140
    weight 1, three tenths                            .000 .054 .004  .000  .000     .0117
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.contract import Signal
from router.retrieval.fusion import fuse
from router.retrieval.recipe import Recipe
from router.retrieval.retrievers import IntentRetriever, Ranking

Rankings = Mapping[Signal, Ranking]

# Fewer past requests show no background to stand out from.
FEWEST_USES = 20
FOLDS = 5
# Deviations above what requests for different tools have in common, as encoders differ: for all-MiniLM-L6-v2 .28 on
# MetaTool and .49 on UltraTool. Gain and harm of weight 2: .0196 and -.0023 at 2, .0172 and -.0015 at 2.5, .0145 and
# -.0009 at 3; of a threshold of .5 for all .0179 and -.0019.
_DEVIATIONS = 2.0
_HIGHEST = 0.95
_MOST_COMPARED = 1_000


@dataclass(frozen=True)
class Lessons:
    """Past requests as a snapshot keeps them: see IntentRetriever."""

    vectors: NDArray[np.float32]
    offsets: NDArray[np.int64]
    tools: NDArray[np.int64]
    lessons: NDArray[np.float32]
    threshold: float

    def retriever(self, kept: NDArray[np.bool_] | None = None) -> IntentRetriever:
        """The signal over all uses, or over those that a mask (uses,) keeps."""
        if kept is None:
            return IntentRetriever(self.vectors, self.offsets, self.tools, self.lessons, self.threshold)
        counts = np.diff(self.offsets)
        pairs = np.repeat(kept, counts)
        offsets = np.cumsum([0, *counts[kept]], dtype=np.int64)
        return IntentRetriever(self.vectors[kept], offsets, self.tools[pairs], self.lessons[pairs], self.threshold)


def teach(
    asked: Sequence[Rankings],
    tools: Sequence[Mapping[int, float]],
    vectors: NDArray[np.float32],
    recipe: Recipe,
    expanded: NDArray[np.uint8] | None,
) -> Lessons | None:
    """The lessons of past requests. `asked` are the lists that each gets without this signal, `tools` the shares by
    ordinal, `vectors` (uses, dim) as a router encodes requests. None where no two of them led to different tools.
    """
    threshold = background([frozenset(shares) for shares in tools], vectors)
    if threshold is None:
        return None
    learned = [lessons(fuse(lists, recipe, expanded)[0], shares) for lists, shares in zip(asked, tools, strict=True)]
    return Lessons(
        vectors=np.ascontiguousarray(vectors, np.float32),
        offsets=np.cumsum([0, *map(len, tools)], dtype=np.int64),
        tools=np.array([ordinal for shares in tools for ordinal in shares], np.int64),
        lessons=np.array([lesson for of_use in learned for lesson in of_use], np.float32),
        threshold=threshold,
    )


def lessons(fused: Ranking, shares: Mapping[int, float]) -> list[float]:
    """Each tool's share × (1 - 1/rank), by its rank among the tools that the request did not lead to."""
    found = []
    for ordinal, share in shares.items():
        rank = fused.rank_of(ordinal)
        if rank is None:
            found.append(share)
        else:
            before = int(np.isin(fused.ordinals[: rank - 1], list(shares)).sum())
            found.append(share * (1 - 1 / (rank - before)))
    return found


def background(tools: Sequence[frozenset[int]], vectors: NDArray[np.float32]) -> float | None:
    """The cosine that requests for different tools seldom reach; None where all led to the same tools."""
    count = min(len(tools), _MOST_COMPARED)
    drawn = np.linspace(0, len(tools) - 1, count).astype(np.int64)
    columns = {ordinal: column for column, ordinal in enumerate(sorted(set[int]().union(*tools)))}
    led = np.zeros((len(drawn), len(columns)), np.float32)
    for row, use in enumerate(drawn):
        led[row, [columns[ordinal] for ordinal in tools[use]]] = 1
    cosines = vectors[drawn] @ vectors[drawn].T
    apart = cosines[led @ led.T == 0]
    return min(float(apart.mean() + _DEVIATIONS * apart.std()), _HIGHEST) if len(apart) else None


def folds(count: int) -> NDArray[np.int64]:
    """Which of FOLDS parts each of `count` requests is in, shape (count,): drawn, and the same each time."""
    return np.random.default_rng(0).permutation(count) % FOLDS


def left_out(taught: Lessons, asked: Sequence[Rankings], rows: Sequence[int], depth: int) -> list[Rankings]:
    """The lists of the uses of `rows` with this signal, each by the uses of other folds."""
    fold = folds(len(taught.vectors))
    retrievers = [taught.retriever(fold != part) for part in range(FOLDS)]
    return [
        {**asked[row], Signal.INTENT: retrievers[fold[row]].rank_vector(taught.vectors[row], depth)} for row in rows
    ]
