"""Measure what the dense list misses: `python -m benchmarks.recall SNAPSHOT [--requests FILE] [--vectors FOLDER]`.

The first fifty tools of the dense list, as a route makes it, against the fifty that every vector in fp32 gives. A tool
that scores as the fiftieth does counts as one of them: duplicates have the same vectors. The vectors are those of
FOLDER, as large_snapshots leaves them; without it the snapshot's own, which have been rounded.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.support.measuring import about, on_one_thread, report
from benchmarks.support.reference_vectors import ReferenceVectors
from benchmarks.support.timed_requests import requests_of, timing_arguments
from router import Recipe, Router, Signal
from router.search import search
from router.snapshot.snapshot import Snapshot

AT = 50
_EQUAL = 1e-5  # the last bits of a cosine depend on the order of its sum


def recall(snapshot: Snapshot, reference: ReferenceVectors, requests: Sequence[str], recipe: Recipe) -> list[float]:
    """The share of the exact first fifty that the dense list has among its own, a request each."""
    router = Router(snapshot)
    encoded = [search.encode(snapshot, [request], recipe)[0].adapted_vector for request in requests]
    moved = np.stack([vector for vector in encoded if vector is not None])
    if len(moved) < len(requests):
        raise ValueError(f"{snapshot.folder} has no dense list")
    exact = reference.scores(moved, recipe.dense_view)
    at = min(AT, len(exact))
    found = []
    for place, request in enumerate(requests):
        scores = exact[:, place]
        fiftieth = np.partition(scores, len(scores) - at)[len(scores) - at]
        listed = router.lists(request, recipe=recipe)[0][Signal.DENSE].ordinals[:at]
        found.append(float(np.count_nonzero(scores[listed] >= fiftieth - _EQUAL)) / at)
    return found


def measure(snapshot: Path, vectors: Path | None, requests: Sequence[str], recipe: str | None) -> dict[str, Any]:
    """Mean recall, and how it is spread over the requests."""
    opened = Snapshot.open(snapshot)
    reference = ReferenceVectors.open(vectors) if vectors else ReferenceVectors.of(opened)
    chosen = Router(opened).recipe(recipe)
    shares = sorted(recall(opened, reference, requests, chosen))
    figures = {"mean": sum(shares) / len(shares), "least": shares[0], "p5": shares[len(shares) // 20]}
    return {f"recall@{AT}": {**figures, "requests": len(shares)}}


def main() -> None:
    """Measure, print, write."""
    on_one_thread()
    parser = timing_arguments(__doc__, 100)
    parser.add_argument("--vectors", type=Path, help="a folder of fp32 vectors; else the snapshot's own")
    parser.add_argument("--recipe", help="the snapshot's own, if none is named")
    asked = parser.parse_args()
    found = about(asked.snapshot)
    requests = requests_of(asked)
    figures = measure(asked.snapshot, asked.vectors, requests, asked.recipe)
    report("dense list against every vector", found, figures, asked.json, asked.against)


if __name__ == "__main__":
    main()
