"""The gate by tool: a new or changed tool that takes other tools' requests is held back, and nothing else.

It is tried on requests of the tools that serve: which of them would it enter, and how far are these from what it is?
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pipeline.enrichment import ScreenedExpansion
from pipeline.inspection.served_tools import ServedTexts
from pipeline.progress import Progress
from pipeline.settings import PublishSettings
from pipeline.vectors import Embedding
from quartermaster.evaluation import Judgement
from router.contract import LEXICAL_SIGNALS
from router.fingerprint import fingerprint
from router.record import ToolRecord
from router.retrieval.recipe import Recipe
from router.search.search import clean_request, search
from router.snapshot.cached_encoder import with_request_cache
from router.snapshot.overlay.indexed_tool import IndexedTool, duplicates_in_snapshot
from router.snapshot.overlay.layering import lay_indexed
from router.snapshot.record_store import ToolEntry
from router.snapshot.snapshot import Snapshot
from router.text import identifier_words, terms
from router.tools.field_text import FieldDocuments
from router.tools.trust.sanitization import sanitize

_LONGEST = 120  # characters: nine in ten first sentences of public MCP tools have at most 131
_END = re.compile(r"(?<=[.!?])\s|(?<=[。!?])")
_PLACES = 5  # an agent is given about so many tools
_EXAMPLES, _SERVED = 3, 3
_VECTORS_A_PROBE = 4  # a request and its steps
# Of the serving tools. Where more are written anew while their records stay, the model, the prompt or the checks have
# changed, and not the tools.
_MOST_REWRITTEN = 0.2
_FEWEST_REWRITTEN = 3  # tools: one of a small catalog is a large share


@dataclass(frozen=True, slots=True)
class ChangedTools:
    """The content hashes, by id, of new tools, of changed ones, and of those that have their record and other texts.

    With `many_rewritten` these are too many to be tried.
    """

    new: Mapping[str, str]
    changed: Mapping[str, str]
    rewritten: Mapping[str, str]
    many_rewritten: bool = False

    @property
    def hashes(self) -> dict[str, str]:
        """Return the content hashes of those to be tried, by id, sorted."""
        return dict(sorted({**self.new, **self.changed, **({} if self.many_rewritten else self.rewritten)}.items()))

    @property
    def all_hashes(self) -> dict[str, str]:
        """Return all content hashes by id."""
        return {**self.new, **self.changed, **self.rewritten}


def changed_tools(
    hashes: Mapping[str, str], documents: Sequence[FieldDocuments], served: Mapping[str, ServedTexts]
) -> ChangedTools:
    """Compare a build's tools with those that serve. `hashes` are those of the build's records, by id."""
    new: dict[str, str] = {}
    changed: dict[str, str] = {}
    rewritten: dict[str, str] = {}
    for document in documents:
        tool_id = document.tool_id
        before, record_hash = served.get(tool_id), hashes[tool_id]
        texts = (document.name, document.description, document.expansion, document.dense)
        if before != ServedTexts(record_hash, texts):
            kind = new if before is None else changed if before.record_hash != record_hash else rewritten
            kind[tool_id] = fingerprint([record_hash, *texts])
    many = len(rewritten) > max(_FEWEST_REWRITTEN, _MOST_REWRITTEN * len(served))
    return ChangedTools(new, changed, rewritten, many)


def identity_text(record: ToolRecord) -> str:
    """Return what a tool says that it is: its name in words, and the first sentence, at most 120 characters of it.

    The rest of a record does not count: who wants to be found for other tools' requests writes them into it. What is
    put here is put before every agent's eyes, in place of what the tool does.
    """
    trusted, _ = sanitize(record)
    sentence = _END.split(" ".join(trusted.description.split()), maxsplit=1)[0][:_LONGEST]
    return f"{' '.join(identifier_words(trusted.name)) or trusted.name}. {sentence}"


@dataclass(frozen=True, slots=True)
class Probe:
    """A request, the ids of the tools that it is for, and their providers."""

    request: str
    tools: frozenset[str]
    providers: frozenset[str | None]

    def is_of(self, tool_id: str, provider: str | None) -> bool:
        """Return whether the request is for a tool, or for another tool of its provider."""
        return tool_id in self.tools or (provider is not None and provider in self.providers)


def probes_of(base: Snapshot, judgements: Sequence[Judgement], gone: Collection[str], most: int) -> tuple[Probe, ...]:
    """Return at most `most` requests: judged ones, then phrases of the tools that serve, in the order of their hashes.

    `gone` are the ids of tools that the build no longer has: their requests are free for others. At least half of the
    requests are phrases, where there are so many: judged ones may be about few tools.
    """
    providers = {facet.tool_id: facet.provider for facet in base.records.facets.rows}
    judged = {
        judgement.request: judgement.tools
        for judgement in judgements
        if judgement.kind != "none" and judgement.tools & providers.keys() and not judgement.tools & set(gone)
    }
    phrases: dict[str, frozenset[str]] = {}
    for ordinal in base.records.by_id().tolist():
        entry = base.records.entry(ordinal)
        if entry.record.tool_id not in gone:
            for phrase in entry.phrases:
                phrases[phrase] = phrases.get(phrase, frozenset()) | {entry.record.tool_id}
    chosen = _first(judged, max(most // 2, most - len(phrases)))
    chosen |= _first({phrase: tools for phrase, tools in phrases.items() if phrase not in chosen}, most - len(chosen))
    return tuple(
        Probe(request, tools, frozenset(providers[tool_id] for tool_id in tools if tool_id in providers))
        for request, tools in chosen.items()
    )


def _first(requests: dict[str, frozenset[str]], most: int) -> dict[str, frozenset[str]]:
    """Return at most `most` requests: the same ones each time, whatever comes before or after them."""
    return {request: requests[request] for request in sorted(requests, key=fingerprint)[:most]}


@dataclass(frozen=True, slots=True)
class Served:
    """A tool as the index has it: its record, what it is found by, and what was written for it."""

    record: ToolRecord
    document: FieldDocuments
    written: ScreenedExpansion | None = None


@dataclass(frozen=True, slots=True)
class Gain:
    """What one tool would gain: how many requests of other providers' tools it enters the first five of.

    `distance` is the mean distance of these from the tool's identity text, 0 where it enters none. That of one request
    is the share of all requests that are nearer to that text, or the share of serving tools' identity texts that are
    nearer to the request, whichever is less. `examples` are the farthest, each with the tools that serve it.
    """

    requests: int = 0
    distance: float = 0.0
    examples: tuple[tuple[str, tuple[str, ...]], ...] = ()


def exceeds(settings: PublishSettings, requests: int, distance: float) -> bool:
    """Return whether a tool gains more than the settings allow."""
    return requests >= settings.quarantine_requests and distance > settings.quarantine_distance


def measure_gains(
    base: Snapshot,
    tools: Sequence[Served],
    baselines: Sequence[Served],
    probes: Sequence[Probe],
    gone: Collection[str],
    compared: int,
    embedding: Embedding,
    progress: Progress,
) -> list[Gain]:
    """Return what each of some tools would gain beside the tools that serve, in their order.

    The tools, sorted by id, are laid over the serving snapshot `base`, which has the build's encoder. Each is measured
    against the serving tools only: a crowd of new tools leaves none of them unseen. `baselines` are what those of them
    that changed were: a request that a baseline enters is no gain. `gone` are the ids of tools that the build no longer
    has; requests are compared with at most `compared` serving tools.
    """
    identities = [identity_text(tool.record) for tool in tools]
    served = [identity_text(record) for record in _sample(base, compared) if record.tool_id not in gone]
    documents = [tool.document for tool in (*tools, *baselines)]
    embedding.embed([*identities, *served, *(text for d in documents for text in (d.dense, *d.phrases))])
    progress.start("quarantine", len(probes))
    cached = with_request_cache(base, _VECTORS_A_PROBE * len(probes))
    ordinals = [ordinal for tool_id in gone if (ordinal := base.records.ordinal(tool_id)) is not None]
    before, after = (lay_indexed(cached, _indexed(base, laid, embedding), ordinals) for laid in (baselines, tools))
    recipe, first = replace(base.recipe, collapse=False), len(base.records)
    entered: dict[str, list[int]] = {tool.record.tool_id: [] for tool in tools}
    changed = {tool.record.tool_id for tool in baselines}
    for number, probe in enumerate(probes):
        found = [one for one in _entering(after, first, recipe, probe) if not probe.is_of(one.tool_id, one.provider)]
        ids = {one.tool_id for one in found}
        if ids & changed:
            ids -= {one.tool_id for one in _entering(before, first, recipe, probe)}
        for tool_id in ids:
            entered[tool_id].append(number)
        progress.advance()
    assert cached.encoder is not None
    # Without the adapter, which was learned from phrases.
    requests = np.stack([cached.encoder.encode_request(clean_request(probe.request)) for probe in probes])
    others = embedding.matrix(served) @ requests.T
    return [
        _gain(cached, recipe, probes, numbers, _distances(identity @ requests.T, others, numbers))
        for numbers, identity in zip(entered.values(), embedding.matrix(identities), strict=True)
    ]


def _sample(base: Snapshot, most: int) -> list[ToolRecord]:
    """Return at most so many of the tools that serve, spread evenly over their ids."""
    count = len(base.records)
    ordinals = np.unique(np.linspace(0, count - 1, min(most, count)).astype(int)).tolist()
    return [base.records.entry(ordinal).record for ordinal in ordinals]


def _indexed(base: Snapshot, tools: Sequence[Served], embedding: Embedding) -> list[IndexedTool]:
    """Return tools whose texts were embedded as what is laid over a snapshot."""
    if not tools:
        return []
    documents = [tool.document for tool in tools]
    matrix = embedding.matrix([text for document in documents for text in (document.dense, *document.phrases)])
    vectors = np.split(matrix, np.cumsum([1 + len(document.phrases) for document in documents])[:-1])
    return [
        IndexedTool(
            ToolEntry(tool.record, tool.document.phrases),
            {signal: Counter(terms(tool.document.text(signal))) for signal in LEXICAL_SIGNALS},
            rows,
            bool(sanitize(tool.record)[1]),
            duplicates_in_snapshot(base, tool.record),
            tool.document.language,
        )
        for tool, rows in zip(tools, vectors, strict=True)
    ]


def _entering(laid: Snapshot, first: int, recipe: Recipe, probe: Probe) -> list[ToolRecord]:
    """Return the records laid over a snapshot, from the ordinal `first` on, that fewer than five others stay before."""
    records, ahead = [], 0
    for ordinal in search(laid, clean_request(probe.request), recipe).ranking.ordinals.tolist():
        if ordinal >= first:
            records.append(laid.records.entry(ordinal).record)
        elif (ahead := ahead + 1) == _PLACES:
            break
    return records


def _distances(fits: NDArray[np.float32], others: NDArray[np.float32], numbers: Sequence[int]) -> list[float]:
    """Return the distance of some requests from an identity text.

    `fits` (requests,) are the cosines of that text, `others` (texts, requests) those of the serving tools' texts.
    """
    return [
        min(float((fits > fits[number]).mean()), float((others[:, number] > fits[number]).mean())) for number in numbers
    ]


def _gain(
    cached: Snapshot, recipe: Recipe, probes: Sequence[Probe], numbers: Sequence[int], distances: Sequence[float]
) -> Gain:
    """Return the gain of a tool that enters the probes of these numbers, at these distances from its identity text."""
    if not numbers:
        return Gain()
    farthest = sorted(zip(distances, numbers, strict=True), key=lambda pair: (-pair[0], pair[1]))[:_EXAMPLES]
    examples = []
    for _, number in farthest:
        ordinals = search(cached, clean_request(probes[number].request), recipe).ranking.ordinals[:_SERVED].tolist()
        examples.append((probes[number].request, tuple(cached.records.tool_id(ordinal) for ordinal in ordinals)))
    return Gain(len(numbers), float(np.mean(distances)), tuple(examples))
