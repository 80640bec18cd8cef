"""The calibration of the snapshot that serves, taken over with its adapter.

How probable it is that a tool fits is a matter of the whole catalog: where few phrases have changed, weights and
threshold stay as they are, and so do answers: settled anew night by night, the threshold of 10,000 tools of which each
time a hundredth changed was .61, .56, .68 and .69, for which of the phrases are asked changes with their number. The
cohort is of single tools, and follows the catalog: see `calibrated_before`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import SnapshotInvalid
from pipeline.learning.adapter.reuse import is_whole
from pipeline.learning.calibration.background import background
from pipeline.learning.calibration.cohort import Asker, Moments, lexical_statistics, stored_vectors
from pipeline.learning.calibration.fitting import Calibrated
from pipeline.learning.calibration.whole_lists import dense_scores
from router import contract
from router.contract import EncoderManifest, Manifest, Signal
from router.fingerprint import fingerprint
from router.retrieval.arrays import load_array
from router.retrieval.calibration import Calibration
from router.retrieval.retrievers import DenseView, ToolVectors
from router.retrieval.score_normalization import BackgroundScores
from router.search.search import clean_request
from router.snapshot import loading
from router.snapshot.record_store import RecordStore
from router.snapshot.snapshot import Snapshot
from router.text import terms

_TOOLS = (contract.RECORDS, contract.RECORD_OFFSETS)
_VECTORS = (contract.VECTORS, contract.VECTOR_SCALES, contract.VECTOR_OFFSETS)
_COHORT = (contract.BACKGROUND_SCORES, contract.BACKGROUND_VECTOR)


@dataclass(frozen=True)
class ReusedCalibration:
    """The calibrations of the snapshot in `folder`, which were settled in the snapshot `origin`, it or one before it,
    whose content hash is `content`."""

    folder: Path
    calibrations: tuple[Calibration, ...]
    origin: str
    content: str

    def named_in(self, content_hash: str) -> str:
        """The content hash of a snapshot with this calibration; `content_hash` is that of one with its own.

        They are the same where this is its own: the snapshot in which it was settled had the same content.
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
    """The calibration of the snapshot that serves, whose adapter the new one takes over.

    None, so that it is settled anew, where there is none, it was settled by judged requests, the new snapshot would not
    be of the same versions, encoder, languages, recipe and share, or a file is not what the manifest says.
    """
    try:
        manifest = Manifest.read(serving)
        fitting = manifest.tuning.get("fitting", {})
        calibrations = tuple(map(Calibration.from_json, fitting.get("calibrations", ())))
    except SnapshotInvalid:
        return None
    if manifest.versions != versions or manifest.languages != tuple(languages) or manifest.recipe != recipe:
        return None
    if manifest.encoder != encoder or not calibrations:
        return None
    if any(c.source == "judgements" or c.max_refused_share != max_refused_share for c in calibrations):
        return None
    if not all(is_whole(serving, manifest, name) for name in (*_TOOLS, *_VECTORS, *_COHORT)):
        return None
    before = fitting.get("taken_over", {"from": manifest.snapshot, "content_hash": manifest.content_hash})
    return ReusedCalibration(serving, calibrations, before["from"], before["content_hash"])


def calibrated_before(snapshot: Snapshot, taken: ReusedCalibration) -> Calibrated:
    """A snapshot's cohort, and the calibrations of one before it with the same encoder, adapter and recipe.

    BM25 is measured anew, for the rarity of a word is of the whole catalog. What a tool scores by its vectors hangs on
    them alone: tools whose vectors are the same keep their statistics, the others are measured.
    """
    asker = Asker(snapshot)
    tools = len(load_array(taken.folder / contract.RECORD_OFFSETS)) - 1
    cohort = BackgroundScores.open(taken.folder, tools, asker.vectors.dim)
    requests = [everyday.request for everyday in background()]
    statistics = lexical_statistics(asker, [terms(clean_request(request)) for request in requests])
    known = _unchanged(snapshot, asker.vectors, taken.folder)
    statistics[Signal.DENSE] = _dense(asker, requests, known, cohort.statistics[Signal.DENSE])
    return Calibrated(BackgroundScores(statistics, cohort.task_direction), taken.calibrations)


def _dense(
    asker: Asker, requests: Sequence[str], known: NDArray[np.int64], before: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Statistics (2, tools), of those `before`, (2, tools there), where a tool is `known` by its ordinal there."""
    changed = np.flatnonzero(known < 0)
    found: NDArray[np.float32] = before[:, known]
    moved = asker.moved(requests) if len(changed) else None
    if moved is None:
        return found
    vectors, view = asker.vectors, asker.snapshot.recipe.dense_view
    bare = np.diff(vectors.offsets) == 1
    if view is not DenseView.DOCUMENT and bare[changed].any() and not bare.all():
        # A tool without phrases is lifted by what the phrases of the whole catalog are worth.
        changed = np.arange(len(vectors))
    moments = Moments(len(changed))
    for _, scores in dense_scores(_only(vectors, changed), moved, view):
        moments.add(scores)
    # The deviation of the mean tool is what deviations that lie halfway to it have for their mean.
    found[:, changed] = moments.statistics(float(before[1].mean(dtype=np.float64)))
    return found


def _only(vectors: ToolVectors, tools: NDArray[np.int64]) -> ToolVectors:
    """The vectors of some tools."""
    if len(tools) == len(vectors):
        return vectors
    counts = np.diff(vectors.offsets)[tools]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    rows = np.arange(offsets[-1]) + np.repeat(vectors.offsets[tools] - offsets[:-1], counts)
    return ToolVectors(vectors.rows[rows], vectors.scales[rows], offsets)


def _unchanged(snapshot: Snapshot, now: ToolVectors, folder: Path) -> NDArray[np.int64]:
    """For each tool its ordinal in the snapshot of a folder where it has the same vectors, or -1."""
    offsets = load_array(folder / contract.RECORD_OFFSETS)
    records = RecordStore(loading.load_bytes(folder / contract.RECORDS), offsets)
    ordinals = {records.tool_id(ordinal): ordinal for ordinal in range(len(records))}
    before = stored_vectors(folder)
    found = np.full(len(now), -1, np.int64)
    for tool in range(len(now)):
        ordinal = ordinals.get(snapshot.records.tool_id(tool))
        if ordinal is None:
            continue
        own, other = (slice(*v.offsets[at : at + 2].tolist()) for v, at in ((now, tool), (before, ordinal)))
        if np.array_equal(now.scales[own], before.scales[other]) and np.array_equal(now.rows[own], before.rows[other]):
            found[tool] = ordinal
    return found
