"""Make pairs of several snapshots and files of requests, with whole providers held back."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.enrichment.chain import LexiconGenerator
from pipeline.errors import RecordRejected
from pipeline.sources.formats.document import read_lines
from quartermaster.evaluation import read_judgements
from quartermaster.training.pairs import TrainingPairs
from router.contract import Expanded
from router.record import Origin
from router.snapshot.snapshot import Snapshot
from router.tools.field_text import project_record

_HELD_BACK = 0.1  # of the pairs, by whole providers
_MOST_OTHERS = 1_500  # tools without requests, of a catalog: they only stand in the way of the others
_SINGLE = ("request", "query", "long")  # fields of a row with one request
_SEVERAL = ("phrases", "requests", "indirect")  # fields with a list of them


@dataclass(frozen=True)
class ReadRequests:
    """Requests with the ids of their tools, and the rows that could not be read, with the reason."""

    requests: Sequence[tuple[str, Sequence[str]]]
    rejected: Sequence[RecordRejected]


@dataclass(frozen=True)
class LabelledRequests:
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
    requests: list[tuple[str, Sequence[str]]] = []
    rejected: list[RecordRejected] = []
    for line in read_lines(path):
        if isinstance(line, RecordRejected):
            rejected.append(line)
            continue
        origin, row = line
        try:
            requests.extend(_row(origin, row))
        except RecordRejected as error:
            rejected.append(error)
    return ReadRequests(requests, rejected)


def _row(origin: Origin, row: Any) -> Iterator[tuple[str, Sequence[str]]]:
    if not isinstance(row, dict):
        raise RecordRejected(origin, 'a row is an object: {"request": "…", "tools": ["…"]}')
    named = row.get("tools", row.get("required", [row.get("id")]))
    if not isinstance(named, list):
        raise RecordRejected(origin, "tools (or required) is no list")
    ids: list[Any] = [tool.get("id") if isinstance(tool, dict) else tool for tool in named]
    tools = [tool for tool in ids if isinstance(tool, str)]
    if not tools or len(tools) < len(ids):
        raise RecordRejected(origin, "it names no tool: an id, or tools (or required) with ids")
    texts = [row[name] for name in _SINGLE if name in row]
    texts += [text for name in _SEVERAL if isinstance(row.get(name), list) for text in row[name]]
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise RecordRejected(origin, f"it has no request in {', '.join((*_SINGLE, *_SEVERAL))}, or one that is no text")
    for text in texts:
        yield text.strip(), tools


def pairs_of_catalogs(
    snapshots: Sequence[tuple[Path, Path | None]], requests: Iterable[tuple[str, Sequence[str]]], seed: int
) -> LabelledRequests:
    """Return the pairs of several catalogs, each given as its snapshot's folder and its file of judged requests.

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
        is_written = bool(set(snapshot.manifest.generators) - {LexiconGenerator.name})
        for ordinal in range(len(snapshot.records)):
            entry = snapshot.records.entry(ordinal)
            record = entry.record
            tools.append(project_record(record, None).dense)
            providers.append((name, record.provider or record.tool_id))  # without a provider it stands for itself
            ordinals[record.tool_id] = ordinal
            if is_written and (snapshot.expanded is None or snapshot.expanded[ordinal] == Expanded.YES):
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
        asked = np.unique([tool for _, tool in self.pairs]).astype(np.int64)
        others = np.setdiff1d(np.arange(len(self.tools)), asked)
        chosen: list[int] = np.union1d(asked, np.random.default_rng(seed).permutation(others)[:_MOST_OTHERS]).tolist()
        return chosen


def _pairs(catalogs: Sequence[_Catalog], held_back: frozenset[tuple[str, str]], seed: int) -> TrainingPairs:
    """Return the pairs. A request is held out where a provider that is held back has one of its tools."""
    tools: list[str] = []
    requests: list[str] = []
    owners: list[int] = []
    held_out: list[bool] = []
    groups: list[int] = []
    for number, catalog in enumerate(catalogs):
        out = {request for request, tool in catalog.pairs if catalog.providers[tool] in held_back}
        places = {tool: len(tools) + place for place, tool in enumerate(catalog.drawn(seed))}
        tools += [catalog.tools[tool] for tool in places]
        groups += [number] * len(places)
        requests += [request for request, _ in catalog.pairs]
        owners += [places[tool] for _, tool in catalog.pairs]
        held_out += [request in out for request, _ in catalog.pairs]
    return TrainingPairs(
        tools, requests, np.array(owners, np.int64), np.array(held_out, bool), np.array(groups, np.int64)
    )


def _held_back(catalogs: Sequence[_Catalog], seed: int) -> frozenset[tuple[str, str]]:
    """Return catalog and provider of those held back: about a tenth of the pairs, drawn by the seed."""
    counts = Counter(catalog.providers[tool] for catalog in catalogs for _, tool in catalog.pairs)
    providers, total = sorted(counts), counts.total()
    chosen: list[tuple[str, str]] = []
    wanted = _HELD_BACK * total
    for place in np.random.default_rng(seed).permutation(len(providers)).tolist():
        # A provider of half of the pairs would leave nothing to learn from.
        if wanted > 0 and counts[providers[place]] <= 2 * _HELD_BACK * total:
            chosen.append(providers[place])
            wanted -= counts[providers[place]]
    return frozenset(chosen)
