"""Measures which requests of other tools a new or changed tool would enter, and how far they are from what it is."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pipeline.settings import PublishSettings
from quartermaster.evaluation import Judgement
from router.fingerprint import fingerprint
from router.retrieval.recipe import Recipe
from router.search.search import clean_request, search
from router.snapshot.cached_encoder import with_request_cache
from router.snapshot.overlay.indexed_tool import IndexedTool
from router.snapshot.overlay.layering import lay_indexed
from router.snapshot.snapshot import Snapshot

_PLACES = 5  # an agent is given about so many tools
_EXAMPLES, _SERVED = 3, 3
_VECTORS_A_PROBE = 4  # a request and its steps


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
    tools: Sequence[IndexedTool],
    identities: NDArray[np.float32],
    served_identities: NDArray[np.float32],
    probes: Sequence[Probe],
    gone: Collection[int] = (),
    advance: Callable[[], None] = lambda: None,
) -> list[Gain]:
    """Return what each of some tools would gain beside the tools that serve, in their order.

    The tools, sorted by id, are laid over the serving snapshot. Each is measured against the serving tools alone: a
    crowd of new tools leaves none of them unseen. `identities` (tools, dim) are the vectors of their identity texts,
    `served_identities` (n, dim) those of serving tools, `gone` the ordinals of tools that the build no longer has.
    `advance` is called once a probe.
    """
    cached = with_request_cache(base, _VECTORS_A_PROBE * len(probes))
    after = lay_indexed(cached, tools, gone)
    recipe = replace(base.recipe, collapse=False)
    entered: list[list[int]] = [[] for _ in tools]
    for number, probe in enumerate(probes):
        for place in _entering(cached, after, tools, recipe, probe):
            entered[place].append(number)
        advance()
    requests = _vectors(cached, probes)
    others = served_identities @ requests.T
    return [
        _gain(cached, recipe, probes, numbers, _distances(identity @ requests.T, others, numbers))
        for numbers, identity in zip(entered, identities, strict=True)
    ]


def _entering(
    cached: Snapshot, after: Snapshot, tools: Sequence[IndexedTool], recipe: Recipe, probe: Probe
) -> list[int]:
    """Return the numbers of the tools that fewer than five serving tools stay before, where they did not serve yet."""
    request, first = clean_request(probe.request), len(cached.records)
    found, ahead = [], 0
    for ordinal in search(after, request, recipe).ranking.ordinals.tolist():
        if ordinal < first:
            ahead += 1
            if ahead == _PLACES:
                break
        else:
            record = tools[ordinal - first].entry.record
            if not probe.is_of(record.tool_id, record.provider):
                found.append(ordinal - first)
    replaced = {place: cached.records.ordinal(tools[place].entry.record.tool_id) for place in found}
    if all(ordinal is None for ordinal in replaced.values()):
        return found
    before = search(cached, request, recipe).ranking.ordinals[:_PLACES].tolist()
    return [place for place in found if replaced[place] not in before]


def _vectors(cached: Snapshot, probes: Sequence[Probe]) -> NDArray[np.float32]:
    """Return the vectors of the requests (probes, dim), without the adapter, which was learned from phrases."""
    if cached.encoder is None:
        raise ValueError("a snapshot without an encoder has no vectors of requests")
    return np.stack([cached.encoder.encode_request(clean_request(probe.request)) for probe in probes])


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
