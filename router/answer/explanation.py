"""The tools of an answer with their reasons: ranks, contributions, the step and the phrase that brought them."""

from collections.abc import Mapping, Sequence

from router.answer.results import RoutedTool
from router.contract import Signal
from router.retrieval.fusion import Contributions
from router.retrieval.retrievers import Ranking
from router.search.search import SearchResult
from router.snapshot.snapshot import Snapshot


class Explanation:
    """Explains `tools`, by ordinal, of one answer by their ranks in `rankings`."""

    def __init__(
        self, snapshot: Snapshot, found: SearchResult, rankings: Mapping[Signal, Ranking], tools: Sequence[int]
    ) -> None:
        self._snapshot = snapshot
        self._phrases: dict[int, int | None] = {}
        if found.query.adapted_vector is not None and snapshot.dense is not None:
            self._phrases = dict(
                zip(tools, snapshot.dense.best_phrases(found.query.adapted_vector, tools), strict=True)
            )
        self._found = found
        self._ranks = {signal: _places(ranking) for signal, ranking in rankings.items()}
        self._whole = _places(found.whole)
        self._covered = _places(found.covered.ranking) if found.covered else {}

    def tool(self, ordinal: int, score: float) -> RoutedTool:
        """A tool that was found, with its reasons."""
        entry = self._snapshot.records.entry(ordinal)
        contributions, assumed = self._contributions(ordinal)
        step, gain = None, 0.0
        if self._found.covered is not None and (place := self._covered.get(ordinal)):
            share, gain = self._found.steps.share, float(self._found.covered.gains[place - 1])
            contributions = {signal: share * part for signal, part in contributions.items()}
            which = int(self._found.covered.steps[place - 1])
            step, assumed = self._found.steps.texts[which] if which >= 0 else None, share * assumed
        return RoutedTool(
            entry.record.tool_id,
            entry.record,
            score,
            ranks={str(signal): ranks[ordinal] for signal, ranks in self._ranks.items() if ordinal in ranks},
            contributions={str(signal): part for signal, part in contributions.items()},
            phrase=None if (best := self._phrases.get(ordinal)) is None else entry.phrases[best],
            assumed=assumed,
            step=step,
            gain=gain,
            also_from=also_from(self._snapshot, self._found, ordinal),
        )

    def _contributions(self, ordinal: int) -> tuple[Contributions, float]:
        place = self._whole.get(ordinal)
        if place is None:
            return {}, 0.0
        return self._found.contributions[place - 1], float(self._found.assumed[place - 1])


def also_from(snapshot: Snapshot, found: SearchResult, ordinal: int) -> tuple[str, ...]:
    """The ids of the duplicates that a tool stands for."""
    return tuple(snapshot.records.tool_id(twin) for twin in found.duplicates.get(ordinal, ()))


def _places(ranking: Ranking) -> dict[int, int]:
    """Ranks, from 1, by ordinal: one look a tool, where every answer looks fifty times."""
    return dict(zip(ranking.ordinals.tolist(), range(1, len(ranking) + 1), strict=True))
