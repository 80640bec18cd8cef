"""A registered tool, ready to search: its entry, the terms of its texts and its vectors."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.contract import LEXICAL_SIGNALS, Expanded, Signal
from router.encoding.encoder import Encoder
from router.expansion import Expansion
from router.record import ToolRecord
from router.retrieval.deduplication import Member, duplicate_key, pair_duplicates
from router.snapshot.cached_encoder import encode_in_batches
from router.snapshot.record_store import ToolEntry
from router.snapshot.snapshot import Snapshot
from router.text import identifier_words, terms
from router.tools.field_text import project_record
from router.tools.trust.sanitization import sanitize

ProvidersByOrdinal = Mapping[int, str | None]


@dataclass(frozen=True, eq=False)
class IndexedTool:
    """A registered tool with what the snapshot's lists need to rank it.

    `terms` are the counted terms of its text by signal. `vectors`, float32 (1 + phrases, dim), are those of its
    document and its phrases; None without an encoder. Where the vendor's own text speaks to the model, `steers` is True
    and those sentences are in neither. `duplicates` are the snapshot's tools of the same name and description, by
    ordinal, with their providers. `language` is that of its forms, empty for English.
    """

    entry: ToolEntry
    terms: Mapping[Signal, Counter[str]]
    vectors: NDArray[np.float32] | None
    steers: bool
    duplicates: ProvidersByOrdinal
    language: str = ""

    @property
    def expanded(self) -> Expanded:
        """Return the mark that a build gives: a tool that steers gets no assumed score for its missing expansion."""
        return Expanded.YES if self.entry.phrases or self.steers else Expanded.NO


def index_tools(
    entries: Sequence[ToolEntry],
    encoder: Encoder | None,
    duplicates: Callable[[ToolRecord], ProvidersByOrdinal],
    known: Mapping[str, IndexedTool],
) -> tuple[IndexedTool, ...]:
    """Return the indexed tools in the order of their entries.

    `known` are tools by id that the same encoder encoded; one whose entry is unchanged is used again.
    """
    texts_by_id = {entry.record.tool_id: _Texts(entry) for entry in entries if not _is_unchanged(entry, known)}
    to_encode = [text for texts in texts_by_id.values() for text in texts.encoded] if encoder else []
    vectors = encode_in_batches(encoder, to_encode) if encoder else {}
    return tuple(
        texts_by_id[tool_id].index(vectors, duplicates(entry.record))
        if (tool_id := entry.record.tool_id) in texts_by_id
        else known[tool_id]
        for entry in entries
    )


class _Texts:
    """The texts of one tool. Its expansion has only phrases; synonyms and concepts come from a build."""

    def __init__(self, entry: ToolEntry) -> None:
        self._entry, self._steers = entry, bool(sanitize(entry.record)[1])
        documents = project_record(entry.record, Expansion("", entry.phrases) if entry.phrases else None)
        self._language = documents.language
        self._documents = {signal: documents.text(signal) for signal in LEXICAL_SIGNALS}
        self.encoded = (documents.dense, *entry.phrases)

    def index(self, vectors: Mapping[str, NDArray[np.float32]], duplicates: ProvidersByOrdinal) -> IndexedTool:
        """Return the tool with the vectors of its texts, given by text; empty without an encoder."""
        counts = {signal: Counter(terms(text)) for signal, text in self._documents.items()}
        rows = np.stack([vectors[text] for text in self.encoded]) if vectors else None
        return IndexedTool(self._entry, counts, rows, self._steers, duplicates, self._language)


def _is_unchanged(entry: ToolEntry, known: Mapping[str, IndexedTool]) -> bool:
    before = known.get(entry.record.tool_id)
    return before is not None and before.entry == entry


# The snapshot's tools with the most similar names that are compared. Of 9,998 public MCP tools at most 23 share a name,
# and in each of their 142 groups of duplicates another member was among these.
_SIMILAR_NAMES = 64


def duplicates_in_snapshot(base: Snapshot, record: ToolRecord) -> ProvidersByOrdinal:
    """Return the snapshot's tools with the same name and description as a tool: their providers by ordinal."""
    names, key = base.lexical.get(Signal.NAME), duplicate_key(record)
    if names is None or key is None:
        return {}
    similar = names.rank_terms(terms(record.name), min(_SIMILAR_NAMES, len(base.records))).ordinals.tolist()
    records = {ordinal: base.records.entry(ordinal).record for ordinal in similar}
    name = identifier_words(record.name)
    return {
        ordinal: other.provider
        for ordinal, other in records.items()
        if identifier_words(other.name) == name and duplicate_key(other) == key
    }


def merged_duplicate_groups(
    base: Snapshot, tools: Sequence[IndexedTool], hidden: Collection[int], replaced: Iterable[int]
) -> NDArray[np.int64] | None:
    """Return the duplicate groups of the snapshot's and the registered tools, int64 by ordinal; None if none has any.

    Groups are those of `router.retrieval.deduplication.duplicates`. The tools with the key of a registered tool, or the
    former key of a `replaced` tool of the snapshot, are grouped anew, as a build of all would group them. Where a tool
    is only removed, the others keep their groups until the next build.
    """
    first = len(base.records)
    registered = np.arange(first, first + len(tools))
    groups = np.concatenate([np.arange(first) if base.duplicates is None else base.duplicates, registered])
    members: dict[Hashable, dict[int, Member]] = {}
    for ordinal, tool in enumerate(tools, first):
        record = tool.entry.record
        key = duplicate_key(record)
        if key is None:
            continue
        members_of_key = members.setdefault(key, {})
        members_of_key[ordinal] = (record.tool_id, record.provider, ordinal)
        members_of_key |= _served(base, tool.duplicates, hidden)
    for ordinal in replaced:
        before = base.records.entry(ordinal).record
        if (key := duplicate_key(before)) is not None and key not in members:
            members[key] = _served(base, duplicates_in_snapshot(base, before), hidden)
    for members_of_key in members.values():
        for ordinal, group in pair_duplicates(members_of_key.values()):
            groups[ordinal] = group
    return None if base.duplicates is None and (groups == np.arange(len(groups))).all() else groups


def _served(base: Snapshot, providers: ProvidersByOrdinal, hidden: Collection[int]) -> dict[int, Member]:
    """Return those of the snapshot's tools that are still served, by ordinal."""
    return {
        ordinal: (base.records.tool_id(ordinal), provider, ordinal)
        for ordinal, provider in providers.items()
        if ordinal not in hidden
    }
