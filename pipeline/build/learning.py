"""What a build learns from its catalog, and what it takes over from the snapshot that serves."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline import enrichment, publish, records, learning, vectors
from pipeline.vectors.exports import EncoderExports
from pipeline.enrichment.lexicon import LexiconGenerator
from pipeline.execution import Execution
from pipeline.progress import Clock
from pipeline.settings import CatalogSettings
from router.tools.field_text import FieldDocuments


@dataclass(frozen=True)
class TrainingSet:
    """What the query adapter is learned from: the tools whose phrases were written for them, and the keys of those; or,
    while few have changed, what the snapshot that serves learned."""

    original: frozenset[str]
    keys: NDArray[np.uint64]
    taken: learning.ReusedAdapter | None

    def content(self) -> str:
        """The hash of the phrases that the adapter is, or will have been, learned from."""
        return hashlib.sha256((self.taken.keys if self.taken else self.keys).tobytes()).hexdigest()


def training_set_of(
    settings: CatalogSettings,
    catalog: records.Catalog,
    expanded: enrichment.Enrichment,
    projected: Sequence[FieldDocuments],
    copies: EncoderExports | None,
    serving: Path | None,
) -> TrainingSet | None:
    """What the adapter is learned from; None where there is none: without an encoder, or by the settings."""
    if copies is None or not settings.tuning.adapter:
        return None
    original = frozenset(tool_id for tool_id, w in expanded.written.items() if w.generator != LexiconGenerator.name)
    keys = learning.phrase_keys(catalog, projected, original)
    most = settings.tuning.max_stale_share
    taken = learning.reuse_adapter(serving, keys, copies.of_tools().spec, learning.TUNING_VERSION, most)
    return TrainingSet(original, keys, taken)


def calibration_of(
    settings: CatalogSettings,
    lesson: TrainingSet | None,
    past: learning.PastRequests | None,
    copies: EncoderExports | None,
    serving: Path | None,
) -> learning.ReusedCalibration | None:
    """The calibration of the snapshot that serves, where its adapter is taken over and no request teaches this one."""
    asked = settings.tuning.calibrate and not settings.tuning.judged and past is None
    if not asked or lesson is None or lesson.taken is None or copies is None or serving is None:
        return None
    return learning.reuse_calibration(
        serving,
        publish.VERSIONS,
        copies.of_requests().spec,
        settings.enrichment.languages,
        settings.retrieval.resolve().to_json(),
        settings.tuning.max_refused_share,
    )


def tune(
    lesson: TrainingSet | None,
    catalog: records.Catalog,
    projected: Sequence[FieldDocuments],
    collected: vectors.Vectors | None,
    embedding: vectors.Embedding | None,
    do: Execution,
    clock: Clock,
) -> learning.Tuning:
    """Learn the adapter, or take it over."""
    if collected is None or embedding is None:
        return learning.Tuning()
    if lesson is None:
        return learning.Tuning(evidence={"adapter": {"skipped": "tuning.adapter is false"}})
    if lesson.taken is not None:
        return learning.reused_tuning(lesson.taken)
    space = learning.phrase_space(catalog, projected, lesson.original, collected, embedding)
    clock.start("tune", None)
    return do("tune", partial(learning.tune, space, lesson.keys))
