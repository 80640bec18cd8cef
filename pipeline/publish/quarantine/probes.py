"""The requests that new and changed tools are tried on, and whose they are."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from quartermaster.evaluation import Judgement
from router.fingerprint import fingerprint
from router.snapshot.snapshot import Snapshot


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
