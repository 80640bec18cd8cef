"""Reuse the calibration of the snapshot that serves, together with its adapter.

The probability that a tool fits depends on the whole catalog. Where few phrases have changed, weights and threshold are
kept, so that answers stay the same: see docs/decisions/abstention.md. Background scores belong to single tools, and are
measured again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import SnapshotInvalid
from pipeline.learning.no_answer_calibration.background import background, score_background
from pipeline.learning.no_answer_calibration.batch_ranking import BatchRanker
from pipeline.learning.no_answer_calibration.fitting import SnapshotCalibration
from router.contract import EncoderManifest, Manifest
from router.fingerprint import fingerprint
from router.retrieval.no_answer_calibration import JUDGEMENTS, Calibration
from router.snapshot.snapshot import Snapshot


@dataclass(frozen=True)
class ReusedCalibration:
    """Calibrations that were fitted in the snapshot `origin`, whose content hash is `content`."""

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

    It must be fitted where there is none, where queries with qrels fitted it, or where the new snapshot would have
    other versions, encoder, languages, recipe or share.
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
    if any(c.source == JUDGEMENTS or c.max_refused_share != max_refused_share for c in calibrations):
        return None
    origin = fitting.get("taken_over", {"from": manifest.snapshot, "content_hash": manifest.content_hash})
    return ReusedCalibration(calibrations, origin["from"], origin["content_hash"])


def update_calibration(snapshot: Snapshot, reused: ReusedCalibration) -> SnapshotCalibration:
    """Return reused calibrations with the background scores of a snapshot of the same encoder, adapter and recipe."""
    ranker = BatchRanker(snapshot)
    vectors = ranker.query_vectors([query.request for query in background()])
    return SnapshotCalibration(score_background(ranker, background(), vectors), reused.calibrations)
