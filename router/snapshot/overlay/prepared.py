"""A registered tool as a snapshot's lists read it: its entry, the terms of its texts, its vectors."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.contract import Expanded, Signal
from router.encoding.encoder import Encoder
from router.record import ToolRecord
from router.snapshot.cached_encoder import vectors_of
from router.snapshot.record_store import Entry
from router.text import terms
from router.tools.field_text import dense_document, description_document, joined, name_document
from router.tools.trust import trusted

Providers = Mapping[int, str | None]


@dataclass(frozen=True, eq=False)
class Prepared:
    """`terms` are those of its text by signal, with their counts. `vectors`, float32 (1 + phrases, dim), are its
    document's and its phrases'; None without an encoder. `steers` says that the vendor's own text speaks to the model:
    those sentences are in neither. `duplicates` are the tools of
    the snapshot with the same name and description, by ordinal, with their providers."""

    entry: Entry
    terms: Mapping[Signal, Counter[str]]
    vectors: NDArray[np.float32] | None
    steers: bool
    duplicates: Providers

    @property
    def expanded(self) -> Expanded:
        """As a build marks it: nothing is made up for what a record that steers brought on itself."""
        return Expanded.YES if self.entry.phrases or self.steers else Expanded.NO


def prepare(
    entries: Sequence[Entry],
    encoder: Encoder | None,
    duplicates: Callable[[ToolRecord], Providers],
    known: Mapping[str, Prepared],
) -> tuple[Prepared, ...]:
    """The tools in their order; of `known` ones, by id and made by the same encoder, nothing is made again."""
    drafts = {entry.record.tool_id: _Draft(entry) for entry in entries if not _same(entry, known)}
    texts = [text for draft in drafts.values() for text in draft.texts] if encoder else []
    vectors = vectors_of(encoder, texts) if encoder else {}
    return tuple(
        drafts[tool_id].prepared(vectors, duplicates(entry.record))
        if (tool_id := entry.record.tool_id) in drafts
        else known[tool_id]
        for entry in entries
    )


class _Draft:
    """The texts of one tool. Phrases are its expansion's: synonyms and concepts only a build has."""

    def __init__(self, entry: Entry) -> None:
        record, left_out = trusted(entry.record)
        self._entry, self._steers = entry, bool(left_out)
        self._documents = {
            Signal.NAME: name_document(record),
            Signal.DESCRIPTION: description_document(record),
            Signal.EXPANSION: joined(*entry.phrases),
        }
        self.texts = (dense_document(record, entry.phrases), *entry.phrases)

    def prepared(self, vectors: Mapping[str, NDArray[np.float32]], duplicates: Providers) -> Prepared:
        """With the vectors of its texts, by text; none without an encoder."""
        counted = {signal: Counter(terms(text)) for signal, text in self._documents.items()}
        made = np.stack([vectors[text] for text in self.texts]) if vectors else None
        return Prepared(self._entry, counted, made, self._steers, duplicates)


def _same(entry: Entry, known: Mapping[str, Prepared]) -> bool:
    before = known.get(entry.record.tool_id)
    return before is not None and before.entry == entry
