"""A snapshot's query adapter: learned before the snapshot is written, or reused, and saved into it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.adapter.phrase_space import PhraseSpace
from pipeline.learning.adapter.training import learn_adapter
from pipeline.records import Catalog
from pipeline.vectors import CatalogVectors, Embedding
from router.contract import ADAPTER
from router.tools.field_text import FieldDocuments, project_record

# Part of the content hash of every snapshot: raise it with any change to what is learned.
TUNING_VERSION = 2
# Their vectors are in memory, 700 MB of 384 dimensions with eight phrases each; training reads a tenth of the phrases.
MOST_TRAINED = 50_000


LEARNED_FROM = "adapter_phrases.npy"

Keys = NDArray[np.uint64]  # of phrases, see `reuse.phrase_keys`


@dataclass(frozen=True)
class LearnedAdapter:
    """A learned query adapter.

    `adapter` is float32 (dim, dim), or None where none was worth it; `keys` are those of the phrases that it was
    learned from; `evidence` is for the manifest.
    """

    adapter: NDArray[np.float32] | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    keys: Keys | None = None

    def save(self, folder: Path) -> None:
        """Write the files into a snapshot's folder."""
        if self.adapter is not None:
            np.save(folder / ADAPTER, self.adapter)
        if self.keys is not None:
            np.save(folder / LEARNED_FROM, self.keys)


def phrase_space(
    catalog: Catalog,
    documents: Sequence[FieldDocuments],
    original: Collection[str],
    vectors: CatalogVectors,
    embedding: Embedding,
) -> PhraseSpace:
    """Return the vectors to learn from; records are embedded where the assessment has not done so.

    `original` are the ids of the tools whose phrases were written for them. Phrases of the lexicon are made of the
    record's own words, and teach nothing. Of a very large catalog a sample of the tools stands for all.
    """
    tools = sampled_tools(len(documents))
    counts = np.diff(vectors.offsets)[tools]
    owners = np.repeat(np.arange(len(tools)), counts)
    is_original = np.array([documents[tool].tool_id in original for tool in tools.tolist()])[owners]
    hashes = embedding.embed(project_record(catalog.records[tool], None).dense for tool in tools.tolist())
    of_all, phrases = vectors.documents, vectors.phrases
    if len(tools) < len(documents):
        of_all = of_all[tools]
        rows = np.arange(len(owners)) + np.repeat(vectors.offsets[tools] - (np.cumsum(counts) - counts), counts)
        phrases = phrases[rows[is_original]]
    elif not is_original.all():
        phrases = phrases[is_original]
    return PhraseSpace(embedding.vectors(hashes), of_all, phrases, owners[is_original])


def sampled_tools(count: int) -> NDArray[np.int64]:
    """Return the ordinals of the tools that the adapter is learned from: all, or MOST_TRAINED spread evenly."""
    if count <= MOST_TRAINED:
        return np.arange(count)
    return np.linspace(0, count - 1, MOST_TRAINED).astype(np.int64)


def tune(space: PhraseSpace, keys: Keys) -> LearnedAdapter:
    """Learn the query adapter; `keys` are those of the phrases. A stage of a build."""
    adapter, evidence = learn_adapter(space)
    return LearnedAdapter(adapter, evidence.to_json(), keys)
