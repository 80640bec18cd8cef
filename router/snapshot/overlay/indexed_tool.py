"""A registered tool, ready to search: its entry, the terms of its texts and its vectors."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.contract import Expanded, Signal
from router.encoding.encoder import Encoder
from router.record import ToolRecord
from router.snapshot.cached_encoder import encode_in_batches
from router.snapshot.record_store import ToolEntry
from router.text import terms
from router.tools.field_text import dense_document, description_document, join_texts, name_document
from router.tools.trust import sanitize

ProvidersByOrdinal = Mapping[int, str | None]


@dataclass(frozen=True, eq=False)
class IndexedTool:
    """A registered tool with what the snapshot's lists need to rank it.

    `terms` are the counted terms of its text by signal. `vectors`, float32 (1 + phrases, dim), are those of its
    document and its phrases; None without an encoder. Where the vendor's own text speaks to the model, `steers` is True
    and those sentences are in neither. `duplicates` are the snapshot's tools of the same name and
    description, by ordinal, with their providers.
    """

    entry: ToolEntry
    terms: Mapping[Signal, Counter[str]]
    vectors: NDArray[np.float32] | None
    steers: bool
    duplicates: ProvidersByOrdinal

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
        record, untrusted = sanitize(entry.record)
        self._entry, self._steers = entry, bool(untrusted)
        self._documents = {
            Signal.NAME: name_document(record),
            Signal.DESCRIPTION: description_document(record),
            Signal.EXPANSION: join_texts(*entry.phrases),
        }
        self.encoded = (dense_document(record, entry.phrases), *entry.phrases)

    def index(self, vectors: Mapping[str, NDArray[np.float32]], duplicates: ProvidersByOrdinal) -> IndexedTool:
        """Return the tool with the vectors of its texts, given by text; empty without an encoder."""
        counts = {signal: Counter(terms(text)) for signal, text in self._documents.items()}
        rows = np.stack([vectors[text] for text in self.encoded]) if vectors else None
        return IndexedTool(self._entry, counts, rows, self._steers, duplicates)


def _is_unchanged(entry: ToolEntry, known: Mapping[str, IndexedTool]) -> bool:
    before = known.get(entry.record.tool_id)
    return before is not None and before.entry == entry
