"""The tools of a catalog that meet implicit needs, and how a request's needs bring them into its ranking.

Which tools meet a need is decided when the catalog is indexed. A request then costs a few patterns, and a look-up where
one matches. See docs/decisions/prerequisites.md.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from router.contract import IMPLICIT_NEEDS
from router.errors import SnapshotInvalid
from router.query.implicit_needs import ShownNeed
from router.record import ToolRecord
from router.refusals import damage_refused
from router.retrieval.retrievers import Admitted, Ranking
from router.retrieval.step_fusion import StepCoverage
from router.tools.implicit_needs import ImplicitNeed, fits_schema, meets_in_words, requires_date

_FIRST = 5  # tools that tell whether a need is met, and whose providers come first; a tool is brought to the last place
_DATED = 3  # tools that a clock is brought for
_MOST_TOOLS = 64  # that meet one need, the most confident


class ImplicitNeedTool(msgspec.Struct, frozen=True):
    """A tool that meets a need: its ordinal, how sure that is (greater is surer), and its provider."""

    ordinal: int
    confidence: float
    provider: str | None = None


class NeedsInWords(msgspec.Struct, frozen=True):
    """The needs that a tool's own words show it to meet, and whether a call must give a date."""

    meets: tuple[ImplicitNeed, ...]
    requires_date: bool


def needs_in_words(record: ToolRecord) -> NeedsInWords:
    """Return what the words of a sanitized record show."""
    meets = tuple(need for need in ImplicitNeed if fits_schema(need, record) and meets_in_words(need, record))
    return NeedsInWords(meets, requires_date(record))


class _Stored(msgspec.Struct):
    """The content of the file."""

    tools: dict[str, list[ImplicitNeedTool]]
    requires_date: list[int]


class ImplicitNeedTools(msgspec.Struct, frozen=True):
    """The tools that meet each need, the surest first, and the ordinals of those that require a date.

    A date brings a clock only where the catalog has one.
    """

    tools: Mapping[ImplicitNeed, tuple[ImplicitNeedTool, ...]] = msgspec.field(default_factory=dict)
    requires_date: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls, meeting: Mapping[ImplicitNeed, Mapping[int, float]], records: Sequence[ToolRecord], dated: Iterable[int]
    ) -> "ImplicitNeedTools":
        """Return the tools by need.

        `meeting` has by need the confidence of each tool that meets it, by ordinal; `dated` are the ordinals of tools
        that require a date.
        """
        tools = {
            need: tuple(
                ImplicitNeedTool(ordinal, round(confidence, 3), records[ordinal].provider)
                for ordinal, confidence in sorted(sure.items(), key=lambda one: (-one[1], one[0]))[:_MOST_TOOLS]
            )
            for need in ImplicitNeed
            if (sure := meeting.get(need))
        }
        return cls(tools, frozenset(dated) if ImplicitNeed.CURRENT_TIME in tools else frozenset())

    @classmethod
    def in_words(
        cls, records: Sequence[ToolRecord], shown: Sequence[NeedsInWords] | None = None
    ) -> "ImplicitNeedTools":
        """Return the tools whose name, first sentence and parameters show that they meet a need, without vectors.

        `shown`, where it is known, is what `needs_in_words` returns of each record.
        """
        shown = shown or list(map(needs_in_words, records))
        meeting = {
            need: {ordinal: 1.0 for ordinal, one in enumerate(shown) if need in one.meets} for need in ImplicitNeed
        }
        return cls.of(meeting, records, (ordinal for ordinal, one in enumerate(shown) if one.requires_date))

    def save(self, folder: Path) -> tuple[str, ...]:
        """Write the file into a snapshot's folder and return its name; nothing where no tool meets a need."""
        if not self.tools:
            return ()
        stored = _Stored({str(need): list(of) for need, of in self.tools.items()}, sorted(self.requires_date))
        (folder / IMPLICIT_NEEDS).write_bytes(msgspec.json.encode(stored))
        return (IMPLICIT_NEEDS,)

    @classmethod
    def open(cls, folder: Path, tools: int) -> "ImplicitNeedTools":
        """Return what `save` wrote into the folder of a snapshot with `tools` tools. Needs of newer versions are left
        out. Raises SnapshotInvalid where the file is damaged or names a tool that is not there."""
        path = folder / IMPLICIT_NEEDS
        with damage_refused(f"{path} cannot be read"):
            stored = msgspec.json.decode(path.read_bytes(), type=_Stored)
        ordinals = [tool.ordinal for of in stored.tools.values() for tool in of] + stored.requires_date
        if any(not 0 <= ordinal < tools for ordinal in ordinals):
            raise SnapshotInvalid(f"{path} names a tool that is not one of {tools}")
        known = {need: tuple(stored.tools[need]) for need in ImplicitNeed if need in stored.tools}
        return cls(known, frozenset(stored.requires_date))


class MetNeed(msgspec.Struct, frozen=True):
    """A need of a request that a tool was brought for: `text` shows it, `ordinal` is the tool."""

    need: ImplicitNeed
    text: str
    ordinal: int


def choose_tools(
    shown: Iterable[ShownNeed],
    known: ImplicitNeedTools,
    ranking: Ranking,
    provider: Callable[[int], str | None],
    admitted: Admitted | None = None,
) -> tuple[MetNeed, ...]:
    """Return a tool for each need that none of the first tools of a ranking meets.

    Among the admitted tools that meet it, one of a provider of the first tools is preferred, then the one that ranks
    best, then the surest. A clock is brought only where one of the first three requires a date, the user only by a
    provider of the first tools.
    """
    first = ranking.ordinals[:_FIRST].tolist()
    met: list[MetNeed] = []
    for need in shown if first else ():
        if need.needs == (ImplicitNeed.CURRENT_TIME,) and not known.requires_date.intersection(first[:_DATED]):
            continue
        tools = [
            (name, tool)
            for name in need.needs
            for tool in known.tools.get(name, ())
            if admitted is None or admitted.mask[tool.ordinal]
        ]
        if any(tool.ordinal in first for _, tool in tools):
            continue
        providers = {provider(ordinal) for ordinal in first} - {None} if tools else set()
        if need.needs == (ImplicitNeed.CURRENT_USER,):
            tools = [(name, tool) for name, tool in tools if tool.provider in providers]
        if tools and (best := min(tools, key=_order(ranking, providers)))[1].ordinal not in {
            one.ordinal for one in met
        }:
            met.append(MetNeed(best[0], need.text, best[1].ordinal))
    return tuple(met)


def _order(
    ranking: Ranking, providers: Collection[str | None]
) -> Callable[[tuple[ImplicitNeed, ImplicitNeedTool]], tuple[object, ...]]:
    def key(candidate: tuple[ImplicitNeed, ImplicitNeedTool]) -> tuple[object, ...]:
        tool = candidate[1]
        # The request's words choose among mailers, not among clocks.
        rank = 0 if candidate[0] is ImplicitNeed.CURRENT_TIME else ranking.rank_of(tool.ordinal) or len(ranking) + 1
        return (tool.provider not in providers, rank, -tool.confidence, tool.ordinal)

    return key


def bring_tools(
    ranking: Ranking, covered: StepCoverage | None, met: Sequence[MetNeed], first_step: int
) -> StepCoverage:
    """Return a ranking with the tools that were chosen for needs, from the fifth place on.

    Scores are raised to keep the order, and the increase is the tool's gain. Its step is `first_step` plus the index of
    the need.
    """
    brought = [need.ordinal for need in met]
    old = ranking.ordinals.tolist()
    order = [ordinal for ordinal in old if ordinal not in brought]
    order[_FIRST - 1 : _FIRST - 1] = brought
    before = {ordinal: row for row, ordinal in enumerate(old)}
    rows = np.array([before.get(ordinal, len(old)) for ordinal in order], np.int64)
    scores = np.append(ranking.scores, min(0.0, float(ranking.scores.min(initial=0.0))))[rows]
    monotone = np.maximum.accumulate(scores[::-1])[::-1]
    gains, steps = np.zeros(len(old) + 1), np.full(len(old) + 1, -1)
    if covered is not None:
        gains[:-1], steps[:-1] = covered.gains, covered.steps
    gains, steps = gains[rows] + monotone - scores, steps[rows]
    place = order.index(brought[0])
    steps[place : place + len(brought)] = first_step + np.arange(len(brought))
    return StepCoverage(Ranking(np.array(order, np.int64), monotone), gains, steps)
