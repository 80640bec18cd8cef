"""A router's log, and the build that learns from it: end to end."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.settings import load
from router import FeedbackLog, Router, Signal
from router.feedback.files import event_files
from tests.support.factories import TOOLS

IDS = [tool["id"] for tool in TOOLS]
# A word of the house for each tool, which no catalog has; the encoder reads letters.
REQUESTS = {
    letter * length: tool_id for letter, tool_id in zip("zqxjkvwy", IDS, strict=True) for length in (20, 22, 24)
}


def built(catalog: Path, workspace: Path, encoder: Path) -> Path:
    sections: dict[str, dict[str, Any]] = {"vectors": {"encoder": str(encoder)}, "tuning": {"feedback": "feedback"}}
    return build(load(catalog, sections, environment={}), workspace=workspace).snapshot


@pytest.mark.parametrize("texts", [True, False])
def test_a_build_learns_from_what_its_router_logged_where_texts_are_kept(
    catalog_folder: Path, encoder_folder: Path, tmp_path: Path, texts: bool
) -> None:
    catalog = tmp_path / "office"
    shutil.copytree(catalog_folder, catalog)
    log = FeedbackLog(catalog / "feedback", texts=texts)
    with Router.open(built(catalog, tmp_path / "ws", encoder_folder), feedback=log) as router:
        assert router.manifest.tuning["intents"]["skipped"] == "there are no past requests"
        before_id = router.manifest.snapshot
        before = {request: router.route(request, feedback=False) for request in REQUESTS}
        for request, tool_id in REQUESTS.items():
            routed = router.route(request, k=2)
            # What was not offered is named by somebody who knows.
            router.feedback(routed if tool_id in routed.ids else request, tool_id, "succeeded")
    with Router.open(built(catalog, tmp_path / "ws", encoder_folder)) as taught:
        assert event_files(catalog / "feedback") == [] and (catalog / "feedback" / "events.parquet").exists()
        assert (taught.manifest.snapshot != before_id) is texts  # nothing to learn: the snapshot stays
        if texts:
            learned = taught.manifest.tuning["intents"]
            assert learned["skipped"] == "", learned
            assert learned["feedback"]["requests"] == len(REQUESTS) <= learned["feedback"]["answers"]
            assert Signal.INTENT in taught.manifest.signals
            after = {request: taught.route(request) for request in REQUESTS}
            gained = [before[r].ids.index(tool_id) - after[r].ids.index(tool_id) for r, tool_id in REQUESTS.items()]
            assert sum(gained) > 0
