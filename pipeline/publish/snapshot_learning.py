"""What only a written snapshot can teach: click feedback from past requests, and when to say that no tool fits."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
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
from pipeline.memo import Memo
from pipeline.progress import Progress
from pipeline.records import Catalog, sanitized
from pipeline.sentences import counted
from quartermaster.evaluation import read_judgements
from router.contract import Manifest, Signal
from router.fingerprint import file_sha256
from router.retrieval.implicit_needs import NeedsInWords, needs_in_words
from router.retrieval.no_answer_calibration import GENERIC, MIN_CALIBRATED_TOOLS, OTHER_LANGUAGE
from router.snapshot.snapshot import Snapshot
from router.tools.field_text import FieldDocuments


def learn_from_past_requests(
    manifest: Manifest, folder: Path, past: PastRequests, fit_weights: bool, progress: Progress
) -> Manifest:
    """Write what past requests teach the snapshot in `folder`, and return and write its new manifest."""
    learned = learn_from_use(Snapshot.open(folder, check=False), past, fit_weights, progress)
    files = learned.save(folder)
    signals = tuple(s for s in Signal if s in manifest.signals or (files and s is Signal.INTENT))
    return _written(manifest, folder, files, learned.evidence, signals=signals, recipe=learned.recipe.to_json())


def calibrate_snapshot(
    manifest: Manifest,
    folder: Path,
    reused: ReusedCalibration | None,
    judgements: Path | None,
    max_refused_share: float,
    memo: Memo,
    documents: Sequence[FieldDocuments] = (),
) -> Manifest:
    """Write the abstention calibration of the snapshot in `folder`, and return and write its new manifest.

    It is the one to reuse, else fitted to `judgements` (a file) and the phrases of the `documents`, so that at most
    `max_refused_share` of the requests that a tool fits are refused. A snapshot that cannot be calibrated says why in
    its manifest. `memo` has what earlier builds computed.
    """
    if (tools := manifest.counts["tools"]) < MIN_CALIBRATED_TOOLS:
        few = f"{counted(tools, 'tool')} {'is' if tools == 1 else 'are'}"
        why = f"{few} too few to calibrate on: an agent can be given them all"
        return _written(manifest, folder, (), {"fitting": {"skipped": why}})
    snapshot = Snapshot.open(folder, check=False)
    if reused is not None:
        calibrated = update_calibration(snapshot, reused, memo)
    else:
        judged = read_judgements(judgements) if judgements else ()
        calibrated = calibrate(snapshot, judged, max_refused_share, documents=documents, memo=memo)
        if {one.language for one in calibrated.calibrations} <= {OTHER_LANGUAGE}:
            why = "no list tells requests that a tool fits from everyday ones"
            return _written(manifest, folder, (), {"fitting": {"skipped": why}})
    evidence: dict[str, Any] = {"calibrations": [one.to_json() for one in calibrated.calibrations]}
    if reused is not None:
        evidence["taken_over"] = {"from": reused.origin, "content_hash": reused.content}
    if calibrated.calibrations:
        evidence["calibrated"] = evidence["calibrations"][0]["source"] != GENERIC
    return _written(manifest, folder, calibrated.background.save(folder), {"fitting": evidence})


def find_implicit_needs(manifest: Manifest, folder: Path, catalog: Catalog, memo: Memo) -> Manifest:
    """Write which tools of a snapshot meet implicit needs, and return and write its new manifest.

    `folder` holds the snapshot, `catalog` its records. A stage after the calibration: its background scores are the
    scale.
    """
    records = [record for record, _ in sanitized(catalog, memo)]
    shown = memo.results(
        "implicit_needs", catalog.digests, NeedsInWords, lambda places: [needs_in_words(records[p]) for p in places]
    )
    needs = find_need_tools(Snapshot.open(folder, check=False), records, shown, memo)
    return _written(manifest, folder, needs.save(folder), {})


def _written(
    manifest: Manifest, folder: Path, files: Iterable[str], evidence: Mapping[str, Any], **changes: Any
) -> Manifest:
    """Return and write a manifest with more files of the snapshot's folder, and with the evidence for them."""
    checksums = {name: file_sha256(folder / name) for name in files}
    manifest = replace(
        manifest, files={**manifest.files, **checksums}, tuning={**manifest.tuning, **evidence}, **changes
    )
    manifest.write(folder)
    return manifest
