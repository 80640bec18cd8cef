"""Pairs of a request and a tool that it needs, from snapshots and files of requests, with whole providers held back."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import RecordRejected
from pipeline.sources.formats.document import read_lines
from quartermaster.evaluation import read_judgements
from router.fingerprint import fingerprint
from router.record import Origin
from router.snapshot.snapshot import Snapshot
from router.tools.field_text import record_document

_HELD_BACK = 0.1  # of the pairs, by whole providers
_MOST_OTHERS = 1_500  # tools without requests, of a catalog: they only stand in the way of the others
_MOST_REQUESTS = 500  # that stop a training, and that judge it
_SINGLE = ("request", "query", "long")  # fields of a row with one request
_SEVERAL = ("phrases", "requests", "indirect")  # fields with a list of them


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """How an encoder is trained. See docs/decisions/encoder.md.

    `rank` is that of the low-rank deltas (LoRA) of its linear maps; 0 trains all weights. `rate` is the highest
    learning rate: it is warmed up over a tenth of the steps, and falls to 0. A batch has a request of each of
    `batch_size` tools. Training takes `epochs`, at most `most_steps` steps; it is checked `checks` times, and ends
    after `patience` checks without a gain. Texts are cut at `max_tokens`. The result lies a `share` of the way from the
    base to what was trained: 1 is all of it.
    """

    rank: int = 16
    rate: float = 1e-3
    batch_size: int = 64
    epochs: int = 3
    most_steps: int = 2_000
    checks: int = 12
    patience: int = 3
    max_tokens: int = 96
    share: float = 1.0
    seed: int = 0


@dataclass(frozen=True)
class TrainingPairs:
    """Requests with their tools, from one catalog or several.

    `tools` are the texts of the tools. Pair i is the text `requests[i]` and the ordinal `owners[i]`: a request of two
    tools makes two pairs. `held_out` masks the pairs that training never reads; `group` is the catalog of each tool,
    within which a request's tools are ranked.
    """

    tools: Sequence[str]
    requests: Sequence[str]
    owners: NDArray[np.int64]
    held_out: NDArray[np.bool_]
    group: NDArray[np.int64]

    @cached_property
    def taught(self) -> NDArray[np.int64]:
        """The pairs to learn from, ascending."""
        return np.flatnonzero(~self.held_out)

    @cached_property
    def stopping(self) -> NDArray[np.int64]:
        """Every second held-out pair: these tell when to stop."""
        return _evenly(np.flatnonzero(self.held_out)[::2])

    @cached_property
    def judging(self) -> NDArray[np.int64]:
        """The other held-out pairs: these tell what was gained."""
        return _evenly(np.flatnonzero(self.held_out)[1::2])

    @cached_property
    def needed(self) -> dict[str, frozenset[int]]:
        """All tools of each request, by its text: none of them is a negative of it."""
        tools: dict[str, set[int]] = defaultdict(set)
        for request, owner in zip(self.requests, self.owners.tolist(), strict=True):
            tools[request].add(owner)
        return {request: frozenset(owners) for request, owners in tools.items()}

    @cached_property
    def content(self) -> str:
        """The hash of all that is learned from and measured on."""
        texts = [self.requests, self.owners.tolist(), np.flatnonzero(self.held_out).tolist(), self.group.tolist()]
        return fingerprint([list(self.tools), *map(list, texts)])


def _evenly(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return at most _MOST_REQUESTS of some rows, spread evenly."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), _MOST_REQUESTS)).astype(np.int64)] if len(rows) else rows


class ReadRequests(NamedTuple):
    """Requests with the ids of their tools, and the rows that could not be read, with the reason."""

    requests: list[tuple[str, Sequence[str]]]
    rejected: list[RecordRejected]


class LabelledRequests(NamedTuple):
    """The pairs of several catalogs; `names` are those of the catalogs, by group.

    `providers` are those that were held back; `unknown` counts the tools of requests that no catalog has.
    """

    pairs: TrainingPairs
    names: Sequence[str]
    providers: Sequence[str]
    unknown: int


def read_requests(path: Path) -> ReadRequests:
    """Return the requests of a JSONL file.

    A row names its tools by `id`, or by `tools` (or `required`): ids, or objects with an `id`. It has a request in
    `request`, `query` or `long`, and lists of them in `phrases`, `requests` or `indirect`. Raises RunAborted where the
    file cannot be read.
    """
    read = ReadRequests([], [])
    for line in read_lines(path):
        try:
            if isinstance(line, RecordRejected):
                raise line
            read.requests.extend(_row(*line))
        except RecordRejected as error:
            read.rejected.append(error)
    return read


def _row(origin: Origin, row: Any) -> Iterator[tuple[str, Sequence[str]]]:
    if not isinstance(row, dict):
        raise RecordRejected(origin, 'a row is an object: {"request": "…", "tools": ["…"]}')
    named = row.get("tools", row.get("required", [row.get("id")]))
    if not isinstance(named, list):
        raise RecordRejected(origin, "tools (or required) is not a list")
    ids: list[Any] = [tool.get("id") if isinstance(tool, dict) else tool for tool in named]
    tools = [tool for tool in ids if isinstance(tool, str)]
    if not tools or len(tools) < len(ids):
        raise RecordRejected(origin, "it names no tool: an id, or tools (or required) with ids")
    texts = [row[name] for name in _SINGLE if name in row]
    texts += [text for name in _SEVERAL if isinstance(row.get(name), list) for text in row[name]]
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        fields = ", ".join((*_SINGLE, *_SEVERAL))
        raise RecordRejected(origin, f"it has no request in {fields}, or one that is not a text")
    for text in texts:
        yield text.strip(), tools


def pairs_of_catalogs(
    snapshots: Sequence[tuple[Path, Path | None]], requests: Iterable[tuple[str, Sequence[str]]], seed: int
) -> LabelledRequests:
    """Return the pairs of several catalogs, each given as its snapshot's folder and its file of queries with qrels.

    Every tenth pair is held back by whole providers, drawn by the seed. A request of `requests` is of the first catalog
    that has all of its tools, by id. Raises SnapshotInvalid or SettingsInvalid where one cannot be read.
    """
    catalogs = [_Catalog.of(folder) for folder, _ in snapshots]
    unknown = 0
    for catalog, (_, file) in zip(catalogs, snapshots, strict=True):
        for judgement in read_judgements(file) if file else ():
            unknown += catalog.add(judgement.request, sorted(judgement.required))
    for text, tools in requests:
        home = next((catalog for catalog in catalogs if all(tool in catalog.ordinals for tool in tools)), None)
        unknown += len(tools) if home is None else home.add(text, tools)
    held_back = _held_back(catalogs, seed)
    pairs = _pairs(catalogs, held_back, seed)
    return LabelledRequests(pairs, [catalog.name for catalog in catalogs], sorted(p for _, p in held_back), unknown)


@dataclass(frozen=True)
class _Catalog:
    """One catalog's tools, by ordinal, and the pairs of request and tool that have been gathered of it."""

    name: str
    tools: Sequence[str]
    providers: Sequence[tuple[str, str]]  # with the catalog's name
    ordinals: Mapping[str, int]
    pairs: list[tuple[str, int]]

    @classmethod
    def of(cls, folder: Path) -> "_Catalog":
        """Return a snapshot's catalog, with the phrases that were written for its tools."""
        snapshot = Snapshot.open(folder)
        name = snapshot.manifest.catalog
        catalog = cls(name, tools := [], providers := [], ordinals := {}, [])
        for ordinal in range(len(snapshot.records)):
            entry = snapshot.records.entry(ordinal)
            record = entry.record
            tools.append(record_document(record))
            providers.append((name, record.provider or record.tool_id))  # without a provider it stands for itself
            ordinals[record.tool_id] = ordinal
            for phrase in entry.phrases:
                catalog.add(phrase, [record.tool_id])
        return catalog

    def add(self, request: str, tools: Sequence[str]) -> int:
        """Add the pairs of a request; return how many of its tools the catalog does not have."""
        known = [self.ordinals[tool] for tool in tools if tool in self.ordinals]
        self.pairs.extend((request, tool) for tool in known)
        return len(tools) - len(known)

    def drawn(self, seed: int) -> list[int]:
        """Return the tools with requests, and some of those without."""
        asked = {tool for _, tool in self.pairs}
        others = [tool for tool in range(len(self.tools)) if tool not in asked]
        return sorted(asked.union(np.random.default_rng(seed).permutation(others)[:_MOST_OTHERS].tolist()))


def _pairs(catalogs: Sequence[_Catalog], held_back: frozenset[tuple[str, str]], seed: int) -> TrainingPairs:
    """Return the pairs. A request is held out where a provider that is held back has one of its tools."""
    tools: list[str] = []
    groups: list[int] = []
    rows: list[tuple[str, int, bool]] = []
    for number, catalog in enumerate(catalogs):
        held_out = {request for request, tool in catalog.pairs if catalog.providers[tool] in held_back}
        places = {tool: len(tools) + place for place, tool in enumerate(catalog.drawn(seed))}
        tools += [catalog.tools[tool] for tool in places]
        groups += [number] * len(places)
        rows += [(request, places[tool], request in held_out) for request, tool in catalog.pairs]
    requests, owners, out = zip(*rows, strict=True) if rows else ((), (), ())
    return TrainingPairs(
        tools, list(requests), np.array(owners, np.int64), np.array(out, bool), np.array(groups, np.int64)
    )


def _held_back(catalogs: Sequence[_Catalog], seed: int) -> frozenset[tuple[str, str]]:
    """Return catalog and provider of those held back: about a tenth of the pairs, drawn by the seed."""
    counts = Counter(catalog.providers[tool] for catalog in catalogs for _, tool in catalog.pairs)
    providers, total = sorted(counts), counts.total()
    chosen, wanted = list[tuple[str, str]](), _HELD_BACK * total
    for place in np.random.default_rng(seed).permutation(len(providers)).tolist():
        # A provider of half of the pairs would leave nothing to learn from.
        if wanted > 0 and counts[providers[place]] <= 2 * _HELD_BACK * total:
            chosen.append(providers[place])
            wanted -= counts[providers[place]]
    return frozenset(chosen)
