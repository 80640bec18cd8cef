"""Make a catalog's pairs: its phrases, and where the settings allow it its judged and past requests."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.encoder.pairs import TrainingPairs, is_held_out
from pipeline.records import Catalog
from router.tools.field_text import FieldDocuments, project_record

# Training reads a bounded number of pairs: more tools than it can read would only make its checks slow.
MOST_TOOLS = 4_000

Requests = Iterable[tuple[str, Collection[str]]]  # texts with the ids of their tools


@dataclass(frozen=True)
class CatalogPairs:
    """The pairs of one catalog; `kept` are those of phrases that are not held out, sorted by owner.

    `keys` (uint64, ascending, each once) name each pair by the tool's record and the request's text.
    """

    pairs: TrainingPairs
    kept: NDArray[np.int64]
    keys: NDArray[np.uint64]


def catalog_pairs(
    catalog: Catalog, documents: Sequence[FieldDocuments], original: Collection[str], requests: Requests
) -> CatalogPairs:
    """Return the pairs of a catalog.

    `original` are the ids of the tools whose phrases were written for them; `requests` are judged and past ones. One
    phrase in four of each tool is held out, from the second on, and one request in four. Of a very large catalog a
    sample of the tools stands for all.
    """
    count = len(documents)
    sampled = np.unique(np.linspace(0, count - 1, min(count, MOST_TOOLS)).astype(np.int64)) if count else np.arange(0)
    ordinals = {documents[place].tool_id: number for number, place in enumerate(sampled.tolist())}
    texts, owners, positions = [], [], []
    for number, place in enumerate(sampled.tolist()):
        document = documents[place]
        for position, phrase in enumerate(document.phrases if document.tool_id in original else ()):
            texts.append(phrase)
            owners.append(number)
            positions.append(position)
    phrases = len(texts)
    for text, tool, position in _request_pairs(requests, ordinals):
        texts.append(text)
        owners.append(tool)
        positions.append(position)
    held_out = is_held_out(np.array(positions, np.int64))
    kept = np.flatnonzero(~held_out[:phrases])
    records = [project_record(catalog.records[place], None).dense for place in sampled.tolist()]
    ids = list(ordinals)
    pairs = TrainingPairs(records, texts, np.array(owners, np.int64), held_out, np.zeros(len(records), np.int64))
    named = (f"{catalog.hashes[ids[owner]]} {text}" for owner, text in zip(owners, texts, strict=True))
    return CatalogPairs(pairs, kept, _keys(named))


def _request_pairs(requests: Requests, ordinals: dict[str, int]) -> Iterator[tuple[str, int, int]]:
    """Yield text and tool of each pair, and the position of its request: all of its pairs are held out, or none."""
    for number, (text, tools) in enumerate(requests):
        for tool_id in sorted(tools):
            if tool_id in ordinals:
                yield text, ordinals[tool_id], number


def _keys(names: Iterable[str]) -> NDArray[np.uint64]:
    digests = {hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8] for name in names}
    return np.sort(np.frombuffer(b"".join(digests), ">u8").astype(np.uint64))
