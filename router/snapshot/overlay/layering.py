"""Lay an overlay over a snapshot: the result is another snapshot, in which every list has the tools of both.

The snapshot's ordinals stay. Registered tools, new and changed, follow in the order of their ids. Ties are broken by
ordinal, so a registered tool ranks behind the snapshot's tools of the same score. The old form of a tool that was
changed, removed or unlisted stays in the lists' files, and is filtered out of every ranking.

Only a build knows everything about a tool, so some of it is assumed. A changed tool keeps its phrases, its past
requests and its background scores; a new one has no past requests, and the mean background scores. Tokens are
estimated. Vectors come from the request encoder, which may be int8 where the build's was not. The spread of scores over
the catalog is taken as unchanged. See docs/decisions/filters.md.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from router.contract import Expanded, Signal
from router.retrieval.retrievers import (
    Admitted,
    DenseRetriever,
    IntentRetriever,
    LexicalRetriever,
    Retriever,
    ToolVectors,
)
from router.retrieval.retrievers.vectors import quantize
from router.retrieval.score_normalization import BackgroundScores
from router.snapshot.overlay.indexed_tool import (
    IndexedTool,
    duplicates_in_snapshot,
    index_tools,
    merged_duplicate_groups,
)
from router.snapshot.overlay.lexical import OverlaidLexical
from router.snapshot.overlay.overlay import Overlay, RegisteredTool
from router.snapshot.overlay.records import OverlaidRecords
from router.snapshot.record_store import RecordStore, ToolEntry, compared_entry
from router.snapshot.snapshot import Snapshot
from router.tools.foreign_text import foreign_script


def apply_overlay(base: Snapshot, overlay: Overlay, before: Snapshot | None = None) -> Snapshot:
    """Return a snapshot of the base's tools and the overlay's; the base itself where the overlay changes nothing.

    Registered tools that the base has unchanged are dropped from its `overlay`. Opened files are shared. `before` is
    the snapshot that has been served: tools that it encoded with the same encoder are not encoded again. A new tool
    takes about 10 ms, most of it in the encoder. Raises ValueError where the base has an overlay already.
    """
    if base.overlay:
        raise ValueError("the snapshot has an overlay already: lay another over the one that it was laid over")
    ordinals = {tool_id: base.records.ordinal(tool_id) for tool_id in overlay.tools}
    entries = {
        tool_id: None if ordinal is None else compared_entry(base.records, ordinal)
        for tool_id, ordinal in ordinals.items()
    }
    unchanged = {tool_id for tool_id, tool in overlay.tools.items() if _is_unchanged(tool, entries[tool_id])}
    overlay = overlay.without(unchanged)
    if not overlay:
        return base
    merged = [_merged_entry(tool, entries[tool_id]) for tool_id, tool in overlay.tools.items()]
    tools = _indexed(base, merged, before)
    base_ordinals = [ordinals[tool_id] for tool_id in overlay.tools]
    hidden = _hidden(base, overlay) | {ordinal for ordinal in base_ordinals if ordinal is not None}
    if not tools and not hidden:
        return replace(base, overlay=overlay)
    return _combined(base, overlay, tools, base_ordinals, hidden)


def lay_indexed(base: Snapshot, tools: Sequence[IndexedTool], gone: Collection[int] = ()) -> Snapshot:
    """Return a snapshot of the base's tools and some that a build has indexed, each replacing the one with its id.

    `gone` are ordinals of the base that are not served any more. Raises ValueError where the base has an overlay.
    """
    if base.overlay:
        raise ValueError("the snapshot has an overlay already: lay tools over the one that it was laid over")
    records = [tool.entry.record for tool in tools]
    replaced = [base.records.ordinal(record.tool_id) for record in records]
    hidden = {*gone, *(ordinal for ordinal in replaced if ordinal is not None)}
    return _combined(base, Overlay().registered(records), tools, replaced, hidden)


def _indexed(base: Snapshot, entries: Sequence[ToolEntry], before: Snapshot | None) -> tuple[IndexedTool, ...]:
    """Return the indexed tools; those that `before` indexed with the same encoder are used again."""
    known: Mapping[str, IndexedTool] = {}
    if before is not None and before.encoder is base.encoder and isinstance(before.records, OverlaidRecords):
        known = before.records.registered
        if before.folder != base.folder:
            known = {
                tool_id: replace(tool, duplicates=duplicates_in_snapshot(base, tool.entry.record))
                for tool_id, tool in known.items()
            }
    return index_tools(entries, base.encoder, partial(duplicates_in_snapshot, base), known)


def _is_unchanged(tool: RegisteredTool, entry: ToolEntry | None) -> bool:
    """Return True where the snapshot has the tool exactly as it was registered."""
    # A snapshot's entry has no outputs.
    registered = replace(tool.record, outputs=(), links=(), operation=None)
    if entry is None or registered.content() != entry.record.content():
        return False
    return tool.phrases in (None, entry.phrases)


def _merged_entry(tool: RegisteredTool, before: ToolEntry | None) -> ToolEntry:
    # Requests for a tool stay the same when its schema changes; the next build has new phrases written.
    phrases = before.phrases if before else ()
    return ToolEntry(tool.record, phrases if tool.phrases is None else tool.phrases)


def _hidden(base: Snapshot, overlay: Overlay) -> set[int]:
    """Return the snapshot's ordinals that were removed, or are missing from the list of their provider."""
    hidden = {ordinal for tool_id in overlay.gone if (ordinal := base.records.ordinal(tool_id)) is not None}
    if not overlay.lists:
        return hidden
    for ordinal, facet in enumerate(base.records.facets.rows):
        listed = overlay.lists.get(facet.provider) if facet.provider else None
        if listed is None or facet.tool_id in listed or facet.provider is None:
            continue
        if facet.kind in overlay.listed_kinds[facet.provider]:
            hidden.add(ordinal)
    return hidden


def _combined(
    base: Snapshot, overlay: Overlay, tools: Sequence[IndexedTool], replaced: Sequence[int | None], hidden: set[int]
) -> Snapshot:
    """Return the snapshot of both. `replaced` is the base's ordinal of each tool, None for a new one."""
    if not isinstance(base.records, RecordStore):
        raise TypeError(f"an overlay cannot be laid over {type(base.records).__name__}")
    first = len(base.records)
    served = np.ones(first + len(tools), bool)
    served[list(hidden)] = False
    moved_to = np.where(served[:first], np.arange(first), -1)
    for place, ordinal in enumerate(replaced):
        if ordinal is not None:
            moved_to[ordinal] = first + place
    records = OverlaidRecords(base.records, tools, hidden)
    languages = dict.fromkeys((*base.manifest.tool_languages, *(tool.language for tool in tools if tool.language)))
    return replace(
        base,
        manifest=replace(base.manifest, tool_languages=tuple(languages)),
        records=records,
        tokens=base.tokens.over(records),
        retrievers={signal: _retriever(base, signal, tools, moved_to) for signal in base.retrievers},
        expanded=_expanded(base, tools),
        non_english=_non_english(base, tools),
        duplicates=merged_duplicate_groups(
            base, tools, hidden, [ordinal for ordinal in replaced if ordinal is not None]
        ),
        prerequisites=base.prerequisites and base.prerequisites.with_ordinals(moved_to),
        background_scores=_background_scores(base.background_scores, replaced),
        served=Admitted(served) if hidden else None,
        overlay=overlay,
    )


def _retriever(
    base: Snapshot, signal: Signal, tools: Sequence[IndexedTool], new_ordinals: NDArray[np.int64]
) -> Retriever:
    """Return a signal's retriever with the tools of the overlay; as it is where the overlay cannot add to it."""
    retriever = base.retrievers[signal]
    if isinstance(retriever, LexicalRetriever) and tools:
        texts = [tool.terms[signal] for tool in tools]
        if signal is Signal.DESCRIPTION and Signal.EXPANSION not in base.retrievers:
            # Without an index of expansions phrases stand with the description, as the lexicon's words do.
            texts = [tool.terms[signal] + tool.terms[Signal.EXPANSION] for tool in tools]
        return OverlaidLexical(retriever, texts, len(base.records), base.manifest.field_lengths.get(signal))
    if isinstance(retriever, DenseRetriever):
        return _dense(retriever, tools)
    if isinstance(retriever, IntentRetriever):
        return retriever.with_ordinals(new_ordinals)
    return retriever


def _dense(dense: DenseRetriever, tools: Sequence[IndexedTool]) -> DenseRetriever:
    vectors = [tool.vectors for tool in tools if tool.vectors is not None]
    if not vectors:
        return dense
    offsets = np.cumsum([0, *map(len, vectors)])
    return dense.with_later(ToolVectors(*quantize(np.concatenate(vectors)), offsets))


def _expanded(base: Snapshot, tools: Sequence[IndexedTool]) -> NDArray[np.uint8] | None:
    # Where the snapshot has no index of expansions, registered tools have no more than its own.
    has_index = Signal.EXPANSION in base.lexical
    registered = np.array([tool.expanded if has_index else Expanded.NO for tool in tools], np.uint8)
    if base.expanded is None and (registered == Expanded.YES).all():
        return None
    marks = np.full(len(base.records), Expanded.YES, np.uint8) if base.expanded is None else base.expanded
    return np.concatenate([marks, registered])


def _non_english(base: Snapshot, tools: Sequence[IndexedTool]) -> NDArray[np.bool_] | None:
    registered = np.array([bool(foreign_script(tool.entry.record.description)) for tool in tools], bool)
    if base.non_english is None and not registered.any():
        return None
    marks = np.zeros(len(base.records), bool) if base.non_english is None else base.non_english
    return np.concatenate([marks, registered])


def _background_scores(background: BackgroundScores | None, replaced: Sequence[int | None]) -> BackgroundScores | None:
    if background is None or not replaced:
        return background
    statistics = {}
    for signal, table in background.statistics.items():
        mean = table.mean(axis=1)
        columns = [mean if ordinal is None else table[:, ordinal] for ordinal in replaced]
        statistics[signal] = np.concatenate([table, np.stack(columns, axis=1)], axis=1)
    return BackgroundScores(statistics, background.task_direction)
