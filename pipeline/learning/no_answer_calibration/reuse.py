"""Reuse the calibration of the snapshot that serves, together with its adapter.

The probability that a tool fits depends on the whole catalog. Where few phrases have changed, weights and threshold are
kept, so that answers stay the same: see docs/decisions/abstention.md. Background scores belong to single
tools, and follow the catalog: see `update_calibration`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import SnapshotInvalid
from pipeline.learning.adapter.learned import is_intact
from pipeline.learning.no_answer_calibration.background import ScoreMoments, background, lexical_statistics
from pipeline.learning.no_answer_calibration.batch_ranking import BatchRanker, dense_scores, stored_vectors
from pipeline.learning.no_answer_calibration.fitting import SnapshotCalibration
from router import contract
from router.contract import EncoderManifest, Manifest, Signal
from router.fingerprint import fingerprint
from router.retrieval.arrays import load_array, load_bytes
from router.retrieval.no_answer_calibration import Calibration
from router.retrieval.retrievers import DenseView, ToolVectors
from router.retrieval.score_normalization import BackgroundScores
from router.search.search import clean_request
from router.snapshot.record_store import RecordStore
from router.snapshot.snapshot import Snapshot
from router.text import terms

_FILES = (
    contract.RECORDS,
    contract.RECORD_OFFSETS,
    contract.VECTORS,
    contract.VECTOR_SCALES,
    contract.VECTOR_OFFSETS,
    contract.BACKGROUND_SCORES,
    contract.BACKGROUND_VECTOR,
)


@dataclass(frozen=True)
class ReusedCalibration:
    """The calibrations of the snapshot in `folder`.

    They were fitted in the snapshot `origin`, that one or an earlier one, whose content hash is `content`.
    """

    folder: Path
    calibrations: tuple[Calibration, ...]
    origin: str
    content: str

    def named_in(self, content_hash: str) -> str:
        """Return the content hash of a snapshot with this calibration, from its hash with a calibration of its own.

        Both are equal where the calibration was fitted in a snapshot of the same content.
        """
        return content_hash if content_hash == self.content else fingerprint([content_hash, self.content])


def reuse_calibration(
    serving: Path,
    versions: Mapping[str, int],
    encoder: EncoderManifest,
    languages: Sequence[str],
    recipe: Mapping[str, Any],
    max_refused_share: float,
) -> ReusedCalibration | None:
    """Return the calibration of the snapshot that serves; None where the new one must be fitted.

    It must be fitted where there is none, where queries with qrels fitted it, where the new snapshot would have other
    versions, encoder, languages, recipe or share, or where a file differs from the manifest.
    """
    try:
        manifest = Manifest.read(serving)
        fitting = manifest.tuning.get("fitting", {})
        calibrations = tuple(map(Calibration.from_json, fitting.get("calibrations", ())))
    except SnapshotInvalid:
        return None
    before = manifest.versions, manifest.encoder, manifest.languages, manifest.recipe
    if before != (versions, encoder, tuple(languages), recipe) or not calibrations:
        return None
    if any(c.source == "judgements" or c.max_refused_share != max_refused_share for c in calibrations):
        return None
    if not all(is_intact(serving, manifest, name) for name in _FILES):
        return None
    origin = fitting.get("taken_over", {"from": manifest.snapshot, "content_hash": manifest.content_hash})
    return ReusedCalibration(serving, calibrations, origin["from"], origin["content_hash"])


def update_calibration(snapshot: Snapshot, reused: ReusedCalibration) -> SnapshotCalibration:
    """Return reused calibrations with the background scores of a snapshot of the same encoder, adapter and recipe.

    BM25 is measured again, because the rarity of a word depends on the whole catalog. Dense scores depend on a tool's
    vectors alone: tools with the same vectors keep their statistics, the others are measured.
    """
    ranker = BatchRanker(snapshot)
    tools = len(load_array(reused.folder / contract.RECORD_OFFSETS)) - 1
    before = BackgroundScores.open(reused.folder, tools, ranker.vectors.dim)
    requests = [query.request for query in background()]
    statistics = lexical_statistics(ranker, [terms(clean_request(request)) for request in requests])
    known = _unchanged(snapshot, ranker.vectors, reused.folder)
    statistics[Signal.DENSE] = _dense_statistics(ranker, requests, known, before.statistics[Signal.DENSE])
    return SnapshotCalibration(BackgroundScores(statistics, before.task_direction), reused.calibrations)


def _dense_statistics(
    ranker: BatchRanker, requests: Sequence[str], known: NDArray[np.int64], before: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return statistics (2, tools): from `before` where a tool is `known` by its ordinal there, else measured."""
    changed = np.flatnonzero(known < 0)
    statistics: NDArray[np.float32] = before[:, known]
    query_vectors = ranker.query_vectors(requests) if len(changed) else None
    if query_vectors is None:
        return statistics
    vectors, view = ranker.vectors, ranker.snapshot.recipe.dense_view
    bare = np.diff(vectors.offsets) == 1
    if view is not DenseView.DOCUMENT and bare[changed].any() and not bare.all():
        # A tool without phrases is raised by what phrases bring over the whole catalog.
        changed = np.arange(len(vectors))
    moments = ScoreMoments(len(changed))
    for _, scores in dense_scores(_only(vectors, changed), query_vectors, view):
        moments.add(scores)
    # Deviations are shrunk halfway towards their mean, which leaves the mean unchanged.
    statistics[:, changed] = moments.statistics(float(before[1].mean(dtype=np.float64)))
    return statistics


def _only(vectors: ToolVectors, tools: NDArray[np.int64]) -> ToolVectors:
    """Return the vectors of some tools."""
    if len(tools) == len(vectors):
        return vectors
    counts = np.diff(vectors.offsets)[tools]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    rows = np.arange(offsets[-1]) + np.repeat(vectors.offsets[tools] - offsets[:-1], counts)
    return ToolVectors(vectors.rows[rows], vectors.scales[rows], offsets)


def _unchanged(snapshot: Snapshot, now: ToolVectors, folder: Path) -> NDArray[np.int64]:
    """Return each tool's ordinal in the snapshot of a folder, where it has the same vectors; else -1."""
    offsets = load_array(folder / contract.RECORD_OFFSETS)
    records = RecordStore(load_bytes(folder / contract.RECORDS), offsets)
    ordinals = {records.tool_id(ordinal): ordinal for ordinal in range(len(records))}
    before = stored_vectors(folder)
    known = np.full(len(now), -1, np.int64)
    for tool in range(len(now)):
        ordinal = ordinals.get(snapshot.records.tool_id(tool))
        if ordinal is None:
            continue
        own, other = (slice(*v.offsets[at : at + 2].tolist()) for v, at in ((now, tool), (before, ordinal)))
        if np.array_equal(now.scales[own], before.scales[other]) and np.array_equal(now.rows[own], before.rows[other]):
            known[tool] = ordinal
    return known
