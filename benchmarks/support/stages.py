"""Time the stages of a route: each function without the functions that it calls."""

import importlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks.support.measuring import Clock
from router.snapshot.snapshot import Snapshot

# Stage, and the piece where it is looked up when it is called. What none of them takes is "rest".
_PIECES = (
    ("steps", "router.search.search:find_steps"),
    ("terms", "router.search.search:terms"),
    ("encode", "router.encoding.encoder:OnnxEncoder.encode_requests"),
    ("encode", "router.encoding.encoder:OnnxEncoder.encode_parts"),
    ("tokenize", "router.encoding.encoder:OnnxEncoder.feeds"),
    ("adapter", "router.search.search:apply_adapter"),
    ("lexical", "router.retrieval.retrievers:LexicalRetriever.rank"),
    ("dense", "router.retrieval.retrievers:DenseRetriever.rank"),
    ("candidates", "router.retrieval.retrievers:CandidateIndex.nearest"),
    ("intents", "router.retrieval.retrievers:IntentRetriever.rank"),
    ("fusion", "router.search.search:fuse"),
    ("cover", "router.search.search:cover_steps"),
    ("implicit needs", "router.search.search:find_implicit_needs"),
    ("duplicates", "router.search.search:collapse"),
    ("prerequisites", "router.search.search:bring_prerequisites"),
    ("fits", "router.answer.fit:estimate_fit"),
    ("explain", "router.answer.explanation:Explainer.__init__"),
    ("explain", "router.answer.explanation:Explainer.tool"),
    ("phrase", "router.retrieval.retrievers:DenseRetriever.best_phrases"),
    ("records", "router.snapshot.record_store:RecordStore.entry"),
    ("records", "router.snapshot.record_store:RecordStore.tool_id"),
)


class Stopwatch:
    """Seconds by stage since the last lap, each stage without the stages that it calls."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._spent: defaultdict[str, float] = defaultdict(float)
        self._inner: list[float] = [0.0]

    def timed(self, call: Callable[..., Any], stage: Callable[..., str]) -> Callable[..., Any]:
        """The call, its time put down to the stage that its arguments say."""

        def measured(*args: Any, **named: Any) -> Any:
            self._inner.append(0.0)
            begun = self._clock()
            try:
                return call(*args, **named)
            finally:
                taken = self._clock() - begun
                self._spent[stage(*args)] += taken - self._inner.pop()
                self._inner[-1] += taken

        return measured

    def laps(self, call: Callable[[str], object], requests: Sequence[str]) -> dict[str, list[float]]:
        """By stage the seconds that each request spent in it, and in all of them under "rest" what is left."""
        found: dict[str, list[float]] = {}
        for number, request in enumerate(requests):
            self._spent.clear()
            self.timed(call, lambda *_: "rest")(request)
            for stage, taken in self._spent.items():
                found.setdefault(stage, [0.0] * number).append(taken)
            for row in found.values():
                row.extend([0.0] * (number + 1 - len(row)))
        return found


@contextmanager
def watched(snapshot: Snapshot, clock: Clock) -> Iterator[Stopwatch]:
    """Time the pieces inside the block; lexical lists by signal.

    Raises AttributeError where a piece is not where the table says: the table wants changing with the router.
    """
    watch = Stopwatch(clock)
    signals = {id(retriever): str(signal) for signal, retriever in snapshot.lexical.items()}
    put_back: list[tuple[Any, str, Any]] = []
    try:
        for stage, piece in _PIECES:
            module, _, path = piece.partition(":")
            *owners, name = path.split(".")
            owner: Any = importlib.import_module(module)
            for part in owners:
                owner = getattr(owner, part)
            original = getattr(owner, name)
            put_back.append((owner, name, original))
            setattr(owner, name, watch.timed(original, _named(stage, signals)))
        yield watch
    finally:
        for owner, name, original in put_back:
            setattr(owner, name, original)


def _named(stage: str, signals: dict[int, str]) -> Callable[..., str]:
    if stage == "lexical":
        return lambda retriever, *_: signals.get(id(retriever), stage)
    return lambda *_: stage
