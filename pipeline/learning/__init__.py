"""What is learned from the catalog itself, without a label: the query adapter, and whether any tool fits.

The adapter is learned from vectors, before the snapshot is written; the calibration from the written snapshot, asked as
a router asks it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.adapter.phrase_space import PhraseSpace
from pipeline.learning.adapter.reuse import LEARNED_FROM, Keys, ReusedAdapter, phrase_keys, reuse_adapter
from pipeline.learning.adapter.training import learn_adapter
from pipeline.learning.calibration.fitting import Calibrated, calibrate
from pipeline.learning.calibration.reuse import ReusedCalibration, calibrated_before, reuse_calibration
from pipeline.learning.usage.click_feedback import learn_from_use
from pipeline.learning.usage.log import PastRequests, past_requests
from pipeline.records import Catalog
from pipeline.vectors import CatalogVectors, Embedding
from router.contract import ADAPTER
from router.tools.field_text import FieldDocuments, project_record

__all__ = [
    "TUNING_VERSION",
    "Calibrated",
    "PastRequests",
    "PhraseSpace",
    "ReusedAdapter",
    "ReusedCalibration",
    "Tuning",
    "calibrate",
    "calibrated_before",
    "learn_from_use",
    "past_requests",
    "phrase_keys",
    "phrase_space",
    "reuse_adapter",
    "reuse_calibration",
    "reused",
    "tune",
]

# In the content hash of every snapshot: raise it with any change to what is learned.
TUNING_VERSION = 2


@dataclass(frozen=True)
class Tuning:
    """What was learned: `adapter` float32 (dim, dim) or None, and the keys of the phrases that it was learned from;
    `evidence` by what it is of, for the manifest."""

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
    """The vectors to learn from; a record's own is embedded where the assessment has not done so.

    `original` are the ids of the tools whose phrases were written for them: those of the lexicon are made of the
    record's own words, and teach nothing.
    """
    owners = np.repeat(np.arange(len(documents)), np.diff(vectors.offsets))
    taught = np.array([document.tool_id in original for document in documents])[owners]
    texts = [project_record(record, None).dense for record in catalog.records]
    embedding.embed(texts)
    phrases = vectors.phrases if taught.all() else vectors.phrases[taught]
    return PhraseSpace(embedding.matrix(texts), vectors.documents, phrases, owners[taught])


def tune(space: PhraseSpace, keys: Keys) -> Tuning:
    """Learn the query adapter; `keys` are those of the phrases."""
    adapter, evidence = learn_adapter(space)
    return Tuning(adapter, {"adapter": evidence.to_json()}, keys)


def reused(taken: ReusedAdapter) -> Tuning:
    """The tuning of a snapshot that goes on with the adapter of the one before."""
    return Tuning(taken.adapter, {"adapter": taken.evidence}, taken.keys)
