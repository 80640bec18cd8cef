"""Token counts are those of the formats and details that the manifest names."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from router import Router, SnapshotInvalid
from router.contract import MANIFEST, TOKEN_COUNTS, UNNAMED_TOKEN_FORMATS, Manifest
from router.fingerprint import file_sha256, fingerprint
from router.provider_formats import Detail, Form
from router.snapshot.snapshot import Snapshot

FORMATS, DETAILS = tuple(map(str, Form)), tuple(map(str, Detail))


@pytest.fixture
def copied(snapshot: Path, tmp_path: Path) -> Path:
    """A copy of the session's snapshot, whose counts are those of another build."""
    folder = tmp_path / snapshot.name
    shutil.copytree(snapshot, folder)
    return folder


def recount(folder: Path, counts: np.ndarray, formats: tuple[str, ...], details: tuple[str, ...]) -> None:
    """Put other counts into a snapshot, of the formats and details named."""
    np.save(folder / TOKEN_COUNTS, counts)
    manifest = Manifest.read(folder)
    files = {**manifest.files, TOKEN_COUNTS: file_sha256(folder / TOKEN_COUNTS)}
    replace(manifest, files=files, token_formats=formats, token_details=details).write(folder)


def test_unnamed_counts_are_the_first(snapshot: Path, copied: Path, caplog: pytest.LogCaptureFixture) -> None:
    counts = np.load(snapshot / TOKEN_COUNTS)[:, : len(UNNAMED_TOKEN_FORMATS)]
    recount(copied, counts, UNNAMED_TOKEN_FORMATS, DETAILS)
    raw = json.loads((copied / MANIFEST).read_text(encoding="utf-8"))
    for key in ("checksum", "token_formats", "token_details"):
        del raw[key]
    (copied / MANIFEST).write_text(json.dumps({**raw, "checksum": fingerprint(raw)}), encoding="utf-8")
    assert (Snapshot.open(copied).token_counts[:, : len(UNNAMED_TOKEN_FORMATS)] == counts).all()
    later = FORMATS[len(UNNAMED_TOKEN_FORMATS) :]
    told = [f"{copied} has no token counts of {', '.join(later)}"] if later else []
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == told


def test_counts_are_read_by_name_and_those_of_unknown_formats_and_details_ignored(copied: Path) -> None:
    counts = np.load(copied / TOKEN_COUNTS)
    other = np.full((len(counts), len(FORMATS) + 1, len(DETAILS) + 1), -1, np.int32)
    other[:, 1:, 1:] = counts[:, ::-1, ::-1]
    recount(copied, other, ("carrier pigeon", *FORMATS[::-1]), ("telegram", *DETAILS[::-1]))
    assert (Snapshot.open(copied).token_counts == counts).all()


def test_counts_that_are_not_there_are_estimated(copied: Path, caplog: pytest.LogCaptureFixture) -> None:
    counts = np.load(copied / TOKEN_COUNTS)
    recount(copied, counts[:, 1:], FORMATS[1:], DETAILS)
    router = Router.open(copied)
    assert "has no token counts of openai: they are estimated" in caplog.text
    tokens = router.tokens(router.tool_id(0)) or {}
    assert list(tokens["responses"].values()) == counts[0, 1].tolist() and min(tokens["openai"].values()) > 0
    routed = router.route("refund a charge", token_budget=2 * tokens["openai"]["full"])
    assert len(routed) and routed.tokens is not None and routed.tokens <= 2 * tokens["openai"]["full"]


def test_what_lacks_a_detail_is_estimated_and_what_does_not_fit_refused(copied: Path) -> None:
    counts = np.load(copied / TOKEN_COUNTS)
    recount(copied, counts[:, :, :2], FORMATS, DETAILS[:2])
    assert (Snapshot.open(copied).token_counts > 0).all()
    recount(copied, counts, FORMATS[1:], DETAILS)
    with pytest.raises(SnapshotInvalid, match=f"in {len(FORMATS) - 1} forms and 3 details"):
        Router.open(copied)
