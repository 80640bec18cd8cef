"""What only a written snapshot can teach: click feedback from past requests, and when to say that no tool fits."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.learning import (
    PastRequests,
    ReusedCalibration,
    calibrate,
    find_need_tools,
    learn_from_use,
    update_calibration,
)
from pipeline.progress import Progress
from quartermaster.evaluation import read_judgements
from router.contract import Manifest, Signal
from router.fingerprint import file_sha256
from router.retrieval.no_answer_calibration import GENERIC, MIN_CALIBRATED_TOOLS
from router.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class CalibrationSource:
    """What abstention is calibrated on: the calibration to reuse, else `judgements` (a file) and the catalog's phrases.

    `max_refused_share` of the requests that a tool fits may be refused.
    """

    reused: ReusedCalibration | None
    judgements: Path | None
    max_refused_share: float


def learn_from_past_requests(
    manifest: Manifest, folder: Path, past: PastRequests, fit_weights: bool, progress: Progress
) -> Manifest:
    """Write what past requests teach the snapshot in `folder`, and return and write its new manifest."""
    learned = learn_from_use(Snapshot.open(folder, check=False), past, fit_weights, progress)
    files = {name: file_sha256(folder / name) for name in learned.save(folder)}
    manifest = replace(
        manifest,
        signals=tuple(s for s in Signal if s in manifest.signals or (files and s is Signal.INTENT)),
        recipe=learned.recipe.to_json(),
        files={**manifest.files, **files},
        tuning={**manifest.tuning, **learned.evidence},
    )
    manifest.write(folder)
    return manifest


def calibrate_snapshot(manifest: Manifest, folder: Path, source: CalibrationSource) -> Manifest:
    """Write the abstention calibration of the snapshot in `folder`, and return and write its new manifest.

    A stage of a build. A snapshot that cannot be calibrated says why in its manifest.
    """
    skipped = _cannot_calibrate(manifest)
    files: dict[str, str] = {}
    evidence: dict[str, Any] = {"skipped": skipped}
    if not skipped:
        snapshot = Snapshot.open(folder, check=False)
        if source.reused is not None:
            calibrated = update_calibration(snapshot, source.reused)
        else:
            judgements = read_judgements(source.judgements) if source.judgements else ()
            calibrated = calibrate(snapshot, judgements, source.max_refused_share)
        if source.reused is not None or calibrated.calibrations:
            files = {name: file_sha256(folder / name) for name in calibrated.background.save(folder)}
            evidence = {"calibrations": [calibration.to_json() for calibration in calibrated.calibrations]}
        else:
            evidence = {"skipped": "no list tells requests that a tool fits from everyday ones"}
        if source.reused is not None:
            evidence["taken_over"] = {"from": source.reused.origin, "content_hash": source.reused.content}
    if calibrations := evidence.get("calibrations"):
        evidence["calibrated"] = calibrations[0]["source"] != GENERIC
    tuning = {**manifest.tuning, "fitting": evidence}
    manifest = replace(manifest, files={**manifest.files, **files}, tuning=tuning)
    manifest.write(folder)
    return manifest


def find_implicit_needs(manifest: Manifest, folder: Path) -> Manifest:
    """Write which tools of the snapshot in `folder` meet implicit needs, and return and write its new manifest.

    A stage of a build, after the calibration: its background scores are the scale.
    """
    needs = find_need_tools(Snapshot.open(folder, check=False))
    files = {name: file_sha256(folder / name) for name in needs.save(folder)}
    manifest = replace(manifest, files={**manifest.files, **files})
    manifest.write(folder)
    return manifest


def _cannot_calibrate(manifest: Manifest) -> str:
    """Return why a snapshot cannot be calibrated; empty where it can."""
    if manifest.counts["tools"] < MIN_CALIBRATED_TOOLS:
        tools = manifest.counts["tools"]
        few = "1 tool is" if tools == 1 else f"{tools} tools are"
        return f"{few} too few to calibrate on: an agent can be given them all"
    if len(manifest.languages) > 1:
        return "the everyday requests are English, and the catalog has phrases in other languages"
    return ""
