"""A build's tools, made ready to be laid over the snapshot that serves, as a build would index them."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from pipeline.vectors import Embedding
from router.contract import LEXICAL_SIGNALS
from router.record import ToolRecord
from router.snapshot.overlay.indexed_tool import IndexedTool, duplicates_in_snapshot
from router.snapshot.record_store import ToolEntry
from router.snapshot.snapshot import Snapshot
from router.text import terms
from router.tools.field_text import FieldDocuments
from router.tools.trust import sanitize


def indexed_tools(
    base: Snapshot, records: Sequence[ToolRecord], documents: Sequence[FieldDocuments], embedding: Embedding
) -> list[IndexedTool]:
    """Return records with their documents as tools to lay over a snapshot. All texts must have been embedded."""
    matrix = embedding.matrix([text for document in documents for text in (document.dense, *document.phrases)])
    vectors = np.split(matrix, np.cumsum([1 + len(document.phrases) for document in documents])[:-1])
    return [
        IndexedTool(
            ToolEntry(record, document.phrases),
            {signal: Counter(terms(document.text(signal))) for signal in LEXICAL_SIGNALS},
            rows,
            bool(sanitize(record)[1]),
            duplicates_in_snapshot(base, record),
        )
        for record, document, rows in zip(records, documents, vectors, strict=True)
    ]
