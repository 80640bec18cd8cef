"""Which tools of a build are new or changed, what they say that they are, and how a build would index them."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.inspection.served_tools import ServedTexts
from pipeline.vectors import Embedding
from router.contract import LEXICAL_SIGNALS
from router.fingerprint import fingerprint
from router.record import ToolRecord
from router.snapshot.overlay.indexed_tool import IndexedTool, duplicates_in_snapshot
from router.snapshot.record_store import ToolEntry
from router.snapshot.snapshot import Snapshot
from router.text import identifier_words, terms
from router.tools.field_text import FieldDocuments
from router.tools.trust import sanitize

_LONGEST = 120  # characters: nine in ten first sentences of public MCP tools have at most 131
_END = re.compile(r"(?<=[.!?])\s|(?<=[。!?])")

# Of the serving tools. Where more are written anew while their records stay, the model, the prompt or the checks have
# changed, and not the tools.
_MOST_REWRITTEN = 0.2
_FEWEST_REWRITTEN = 3  # tools: one of a small catalog is a large share


@dataclass(frozen=True, slots=True)
class ChangedTools:
    """The content hashes, by id, of new tools and of changed ones.

    `rewritten` counts the tools that have the record that serves and other texts, where they are too many to be tried;
    0 where they are among the changed.
    """

    new: Mapping[str, str]
    changed: Mapping[str, str]
    rewritten: int = 0

    @property
    def hashes(self) -> dict[str, str]:
        """Return all content hashes by id, sorted."""
        return dict(sorted({**self.new, **self.changed}.items()))


def content_hash(record_hash: str, document: FieldDocuments) -> str:
    """Return the hash of a tool's record and of the texts that it is found by."""
    return fingerprint([record_hash, document.name, document.description, document.expansion, document.dense])


def changed_tools(
    hashes: Mapping[str, str], documents: Sequence[FieldDocuments], served: Mapping[str, ServedTexts]
) -> ChangedTools:
    """Compare a build's tools with those that serve. `hashes` are those of the build's records, by id."""
    new, changed, rewritten = {}, {}, {}
    for document in documents:
        tool_id = document.tool_id
        before = served.get(tool_id)
        texts = (document.name, document.description, document.expansion, document.dense)
        if before == ServedTexts(hashes[tool_id], texts):
            continue
        content = content_hash(hashes[tool_id], document)
        if before is None:
            new[tool_id] = content
        elif before.record_hash != hashes[tool_id]:
            changed[tool_id] = content
        else:
            rewritten[tool_id] = content
    if len(rewritten) > max(_FEWEST_REWRITTEN, _MOST_REWRITTEN * len(served)):
        return ChangedTools(new, changed, len(rewritten))
    return ChangedTools(new, {**changed, **rewritten})


def identity_text(record: ToolRecord) -> str:
    """Return what a tool says that it is: its name in words, and the first sentence, at most 120 characters of it.

    The rest of a record does not count: who wants to be found for other tools' requests writes them into it. What is
    put here is put before every agent's eyes, in place of what the tool does.
    """
    trusted, _ = sanitize(record)
    sentence = _END.split(" ".join(trusted.description.split()), maxsplit=1)[0][:_LONGEST]
    return f"{' '.join(identifier_words(trusted.name)) or trusted.name}. {sentence}"


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
