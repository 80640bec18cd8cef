"""What only a written snapshot can be asked: what past requests teach it, and when to say that none fits."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from pipeline.learning import PastRequests, ReusedCalibration, calibrate, learn_from_use, update_calibration
from pipeline.progress import Progress
from pipeline.settings import CatalogSettings
from router.contract import Manifest, Signal
from router.evaluation import judgements_of, read_judgements
from router.fingerprint import file_sha256
from router.retrieval.calibration import FEWEST_CALIBRATED, GENERIC
from router.snapshot.snapshot import Snapshot


def learned(
    manifest: Manifest,
    folder: Path,
    past: PastRequests | None,
    taken: ReusedCalibration | None,
    settings: CatalogSettings,
    progress: Progress,
) -> Manifest:
    """Ask the snapshot in `folder` by its own recipe, and write what is learned beside it.

    `taken` is the calibration to go on with. Returns the manifest that says so, which stands in the folder too.
    """
    if past is not None:
        manifest = _from_use(manifest, folder, past, settings.tuning.fit_weights, progress)
    if settings.tuning.calibrate:
        progress.start("calibrate", None)
        manifest = _calibrated(manifest, folder, taken, settings)
    return manifest


def _from_use(manifest: Manifest, folder: Path, past: PastRequests, fit: bool, progress: Progress) -> Manifest:
    """The manifest of a snapshot that has learned from past requests, written with the files which that takes."""
    learned = learn_from_use(Snapshot.open(folder, check=False), past, fit, progress)
    files = {name: file_sha256(folder / name) for name in learned.save(folder)}
    manifest = replace(
        manifest,
        signals=(*manifest.signals, Signal.INTENT) if files else manifest.signals,
        recipe=learned.recipe.to_json(),
        files={**manifest.files, **files},
        tuning={**manifest.tuning, **learned.evidence},
    )
    manifest.write(folder)
    return manifest


def _calibrated(
    manifest: Manifest, folder: Path, taken: ReusedCalibration | None, settings: CatalogSettings
) -> Manifest:
    """The manifest of a snapshot that can say that no tool fits, written with the files which that takes."""
    files: dict[str, str] = {}
    evidence: dict[str, Any]
    if manifest.counts["tools"] < FEWEST_CALIBRATED:
        tools = manifest.counts["tools"]
        few = "1 tool is" if tools == 1 else f"{tools} tools are"
        evidence = {"skipped": f"{few} too few to calibrate on: an agent can be given them all"}
    elif len(manifest.languages) > 1:
        evidence = {"skipped": "the everyday requests are English, and the catalog has phrases in other languages"}
    elif taken is not None:
        done = update_calibration(Snapshot.open(folder, check=False), taken)
        files = {name: file_sha256(folder / name) for name in done.background.save(folder)}
        evidence = {
            "calibrations": [calibration.to_json() for calibration in done.calibrations],
            "taken_over": {"from": taken.origin, "content_hash": taken.content},
        }
    else:
        judged = judgements_of(settings.folder) if settings.tuning.judged else None
        done = calibrate(
            Snapshot.open(folder, check=False),
            read_judgements(judged) if judged else (),
            settings.tuning.max_refused_share,
        )
        if done.calibrations:
            files = {name: file_sha256(folder / name) for name in done.background.save(folder)}
            evidence = {"calibrations": [calibration.to_json() for calibration in done.calibrations]}
        else:
            evidence = {"skipped": "no list tells requests that a tool fits from everyday ones"}
    rules = evidence.get("calibrations")
    if rules:
        evidence["calibrated"] = rules[0]["source"] != GENERIC
    tuned = {**manifest.tuning, "fitting": evidence}
    manifest = replace(manifest, files={**manifest.files, **files}, tuning=tuned)
    manifest.write(folder)
    return manifest
