"""The prerequisite graph of a snapshot by ordinal: what each tool needs, and which tools resolve it.

Three files: a JSON line for each tool, where each line begins, and a number for each tool's provider. A line is
`[[parameter, kind, noun, [[ordinal, confidence, of_own], …]], …]`. A snapshot without edges has none of the files.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from router.contract import PREREQUISITE_OFFSETS, PREREQUISITES, PROVIDER_GROUPS
from router.errors import SnapshotInvalid
from router.record import ToolRecord
from router.retrieval.arrays import load_array, load_bytes, load_offsets
from router.tools.prerequisites import NeedKind

if TYPE_CHECKING:
    from router.tools.prerequisites.matching import Prerequisite


class Resolver(NamedTuple):
    """A tool that finds what another needs, by ordinal, and how sure that is, from 0 to 1.

    `of_own` says that it finds only what is the caller's own.
    """

    ordinal: int
    confidence: float
    of_own: bool = False


class UnmetNeed(NamedTuple):
    """What a tool needs: its parameter, the kind, the thing in words ("" where unknown), and who resolves it."""

    parameter: str
    kind: NeedKind
    noun: str
    resolvers: tuple[Resolver, ...]


_NEEDS = msgspec.json.Decoder(tuple[UnmetNeed, ...])
_NO_PROVIDER = -1


class PrerequisiteGraph(msgspec.Struct, frozen=True, dict=True):
    """What tools need, by ordinal. It lists only tools with a resolver.

    `lines` are the bytes of the JSON lines, `offsets` int64 (tools + 1,) say where each begins, `providers` int32
    (tools,) number the providers, -1 for none. `moved_to` int64 (tools,), where an overlay lies over the snapshot, is
    the ordinal that each tool has now, -1 for one that is not served.
    """

    lines: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    providers: NDArray[np.int32]
    moved_to: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, records: Sequence[ToolRecord], edges: "Iterable[Prerequisite]") -> "PrerequisiteGraph | None":
        """Return the graph of edges, sorted as `find_prerequisites` returns them; None without any.

        `records` are in the order of ordinals, which is that of their ids.
        """
        ordinals = {record.tool_id: ordinal for ordinal, record in enumerate(records)}
        lines = [b""] * len(records)
        for tool_id, of_tool in groupby(edges, lambda edge: edge.tool_id):
            needs = [
                (
                    parameter,
                    first.kind,
                    first.noun,
                    [(ordinals[e.needed], e.confidence, e.of_own) for e in (first, *others)],
                )
                for parameter, (first, *others) in (
                    (name, list(group)) for name, group in groupby(of_tool, lambda edge: edge.parameter)
                )
            ]
            lines[ordinals[tool_id]] = msgspec.json.encode(needs) + b"\n"
        if not any(lines):
            return None
        names = {name: number for number, name in enumerate(sorted({r.provider for r in records if r.provider}))}
        return cls(
            np.frombuffer(b"".join(lines), np.uint8),
            np.cumsum([0, *map(len, lines)], dtype=np.int64),
            np.array([names[r.provider] if r.provider else _NO_PROVIDER for r in records], np.int32),
        )

    def save(self, folder: Path) -> None:
        """Write the three files into a snapshot's folder."""
        (folder / PREREQUISITES).write_bytes(self.lines.tobytes())
        np.save(folder / PREREQUISITE_OFFSETS, self.offsets, allow_pickle=False)
        np.save(folder / PROVIDER_GROUPS, self.providers, allow_pickle=False)

    @classmethod
    def open(cls, folder: Path, tools: int) -> "PrerequisiteGraph":
        """Open the graph of a snapshot with `tools` tools. Raises SnapshotInvalid where its files do not fit.

        Every line is decoded once, 1 µs a tool, so that no request meets a damaged one.
        """
        lines = load_bytes(folder / PREREQUISITES)
        offsets, providers = load_offsets(folder / PREREQUISITE_OFFSETS), load_array(folder / PROVIDER_GROUPS)
        if len(offsets) != tools + 1 or offsets[-1] != len(lines):
            raise SnapshotInvalid(f"{folder / PREREQUISITES} does not fit its offsets and {tools} tools")
        if providers.shape != (tools,) or providers.dtype != np.int32:
            raise SnapshotInvalid(f"{folder / PROVIDER_GROUPS} does not fit {tools} tools")
        graph = cls(lines, offsets, providers)
        for ordinal in np.flatnonzero(np.diff(offsets)).tolist():
            for need in graph.needs(ordinal):
                for resolver in need.resolvers:
                    if not (0 <= resolver.ordinal < tools and 0 <= resolver.confidence <= 1):
                        raise SnapshotInvalid(f"{folder / PREREQUISITES} names a resolver that is none: {resolver}")
        return graph

    def needs(self, ordinal: int) -> tuple[UnmetNeed, ...]:
        """Return what a tool needs and others resolve. Raises SnapshotInvalid where its line is damaged."""
        if ordinal + 1 >= len(self.offsets) or self.offsets[ordinal] == self.offsets[ordinal + 1]:
            return ()
        line = self.lines[self.offsets[ordinal] : self.offsets[ordinal + 1]].tobytes()
        try:
            needs = _NEEDS.decode(line)
        except (ValueError, RecursionError) as error:
            raise SnapshotInvalid(f"the needs of tool {ordinal} of the snapshot are damaged: {error}") from error
        return needs if self.moved_to is None else tuple(_moved(needs, self.moved_to))

    def needing(self, ordinal: int) -> tuple[tuple[int, str], ...]:
        """Return the tools that need a tool to run first, with the parameter of each, in the order of ordinals.

        The first call decodes every line, 1 µs a tool: `route` never makes it.
        """
        return tuple(self._needing.get(ordinal, ()))

    @cached_property
    def _needing(self) -> Mapping[int, Sequence[tuple[int, str]]]:
        found: dict[int, list[tuple[int, str]]] = defaultdict(list)
        for ordinal in np.flatnonzero(np.diff(self.offsets)).tolist():
            if self.moved_to is None or self.moved_to[ordinal] == ordinal:  # another definition may need another tool
                for need in self.needs(ordinal):
                    for resolver in need.resolvers:
                        found[resolver.ordinal].append((ordinal, need.parameter))
        return found

    def provider(self, ordinal: int) -> int:
        """Return the number of a tool's provider; -1 for none, and for a tool of an overlay."""
        return int(self.providers[ordinal]) if ordinal < len(self.providers) else _NO_PROVIDER

    def with_ordinals(self, moved_to: NDArray[np.int64]) -> "PrerequisiteGraph":
        """Return the graph under an overlay, which gives tools other ordinals; -1 for a tool that it hides."""
        return replace(self, moved_to=moved_to)


def _moved(needs: Iterable[UnmetNeed], moved_to: NDArray[np.int64]) -> Iterable[UnmetNeed]:
    for need in needs:
        moved = [found._replace(ordinal=int(moved_to[found.ordinal])) for found in need.resolvers]
        if resolvers := tuple(found for found in moved if found.ordinal >= 0):
            yield need._replace(resolvers=resolvers)
