"""What a build learns from its catalog, and what it reuses of the snapshot that serves."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline import learning, publish
from pipeline.enrichment import Enrichment
from pipeline.enrichment.chain import LexiconGenerator
from pipeline.execution import Execution
from pipeline.progress import Progress
from pipeline.records import Catalog
from pipeline.settings import TuningSettings
from pipeline.vectors import CatalogVectors, Embedding, EncoderExports
from router.retrieval.recipe import Recipe
from router.tools.field_text import FieldDocuments


@dataclass(frozen=True)
class TrainingSet:
    """What the query adapter is learned from.

    `original` are the ids of the tools whose phrases were written for them, `keys` those phrases' keys. `reused` is the
    adapter of the snapshot that serves, where few phrases have changed since it was learned.
    """

    original: frozenset[str]
    keys: NDArray[np.uint64]
    reused: learning.LearnedAdapter | None

    def content(self) -> str:
        """Return the hash of the phrases that the adapter is learned from."""
        keys = self.keys if self.reused is None or self.reused.keys is None else self.reused.keys
        return hashlib.sha256(keys.tobytes()).hexdigest()


def training_set_of(
    settings: TuningSettings,
    catalog: Catalog,
    enrichment: Enrichment,
    documents: Sequence[FieldDocuments],
    exports: EncoderExports | None,
    serving: Path | None,
) -> TrainingSet | None:
    """Return what the adapter is learned from; None without an encoder, or where the settings want no adapter."""
    if exports is None or not settings.adapter:
        return None
    original = frozenset(tool_id for tool_id, w in enrichment.written.items() if w.generator != LexiconGenerator.name)
    keys = learning.phrase_keys(catalog, documents, original)
    reused = learning.reuse_adapter(
        serving, keys, exports.of_tools().spec, learning.TUNING_VERSION, settings.max_stale_share
    )
    return TrainingSet(original, keys, reused)


def reusable_calibration(
    settings: TuningSettings,
    training_set: TrainingSet | None,
    past: learning.PastRequests | None,
    exports: EncoderExports | None,
    serving: Path | None,
    languages: Sequence[str],
    recipe: Recipe,
) -> learning.ReusedCalibration | None:
    """Return the serving snapshot's calibration, where its adapter is reused and no request is learned from."""
    wanted = settings.calibrate and not settings.judged and past is None
    if not wanted or training_set is None or training_set.reused is None or exports is None or serving is None:
        return None
    return learning.reuse_calibration(
        serving,
        publish.VERSIONS,
        exports.of_requests().spec,
        tuple(languages),
        recipe.to_json(),
        settings.max_refused_share,
    )


def tune(
    training_set: TrainingSet | None,
    catalog: Catalog,
    documents: Sequence[FieldDocuments],
    vectors: CatalogVectors | None,
    embedding: Embedding | None,
    execution: Execution,
    progress: Progress,
) -> learning.LearnedAdapter:
    """Return the adapter, learned or reused, with its evidence."""
    if vectors is None or embedding is None:
        return learning.LearnedAdapter()
    if training_set is None:
        return learning.LearnedAdapter(evidence={"skipped": "tuning.adapter is false"})
    if training_set.reused is not None:
        return training_set.reused
    space = learning.phrase_space(catalog, documents, training_set.original, vectors, embedding)
    progress.start("tune", None)
    return execution.run("tune", learning.tune, space, training_set.keys)
