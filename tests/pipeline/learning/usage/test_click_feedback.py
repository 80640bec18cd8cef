"""A catalog with past requests, from a file or its router's log: what a build learns, and how it then answers."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.learning import PastRequests, learn_from_use
from pipeline.learning.usage.feedback import PastRequest
from pipeline.learning.usage.log import UsageLog
from pipeline.progress import SilentProgress
from pipeline.settings import load
from router import FeedbackLog, Router, Signal, SnapshotInvalid
from router.contract import INTENT_TOOLS, INTENT_VECTORS, Manifest
from router.feedback.files import event_files
from router.fingerprint import file_sha256
from router.snapshot.snapshot import Snapshot
from tests.support.factories import TOOLS
from tests.support.quick import QUICK
from tests.support.small_encoder import vector_settings

IDS = [tool["id"] for tool in TOOLS]
# A word of the house for each tool, which no catalog has; the encoder reads letters.
REQUESTS = {
    letter * length: tool_id for letter, tool_id in zip("zqxjkvwy", IDS, strict=True) for length in (20, 22, 24)
}


class Built:
    """A catalog of eight tools and a workspace of its own, which begins as a copy of the session's."""

    def __init__(self, folder: Path, catalog: Path, workspace: Path, encoder: Path) -> None:
        self.catalog, self._workspace, self._encoder = folder / "office", folder / "ws", encoder
        shutil.copytree(catalog, self.catalog)
        shutil.copytree(workspace, self._workspace)

    def log(self, *rows: dict[str, Any]) -> None:
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (self.catalog / "usage.jsonl").write_text(text, encoding="utf-8")

    def build(self, **tuning: Any) -> BuildReport:
        sections: dict[str, dict[str, Any]] = {
            **QUICK,
            "vectors": vector_settings(self._encoder),
            "tuning": {"calibrate": False, **tuning},
        }
        return build(load(self.catalog, sections, environment={}), workspace=self._workspace)


@pytest.fixture
def office(catalog_folder: Path, workspace: Path, encoder_folder: Path, tmp_path: Path) -> Built:
    return Built(tmp_path, catalog_folder, workspace, encoder_folder)


def test_a_build_learns_from_past_requests_says_what_it_gains_and_takes_none_of_their_words(office: Built) -> None:
    rows: list[dict[str, Any]] = [{"request": request, "tools": [tool_id]} for request, tool_id in REQUESTS.items()]
    office.log(*rows, {"request": "gone", "tools": ["old/tool"]})
    first = office.build(usage="usage.jsonl", fit_weights=True)
    (rejected,) = first.rejected
    assert (rejected.origin.file, rejected.origin.pointer) == ("usage.jsonl", "line 25")
    assert rejected.reason == "the catalog has no tool 'old/tool'"
    router = Router.open(first.snapshot)
    manifest = router.manifest
    assert manifest.signals == tuple(Signal)
    assert {INTENT_TOOLS, INTENT_VECTORS} <= set(manifest.files)
    learned = manifest.tuning["intents"]
    assert (learned["requests"], learned["rows"], learned["rejected"]) == (len(REQUESTS), len(REQUESTS) + 1, 1)
    assert learned["skipped"] == "" and learned["left_out"]["interval"][0] <= learned["left_out"]["difference"]
    assert manifest.tuning["weights"]["kept"] == "24 past requests are too few: 100 are needed"
    own = router.recipe()
    without = replace(own, weights={**own.weights, Signal.INTENT: 0})
    for request, tool_id in REQUESTS.items():  # it speaks for its tool unless the lists had it first
        before = router.diagnose(request, tool_id, recipe=without).rank
        found = router.diagnose(request, tool_id).tool
        assert before == 1 or found.contributions[Signal.INTENT] > 0
    files = (path for path in first.snapshot.rglob("*") if path.is_file())
    assert not any(b"z" * 20 in path.read_bytes() for path in files)
    lessons_for_a_tool_that_is_not_there_are_refused(first.snapshot)


def lessons_for_a_tool_that_is_not_there_are_refused(snapshot: Path) -> None:
    tools = np.load(snapshot / INTENT_TOOLS)
    np.save(snapshot / INTENT_TOOLS, np.full_like(tools, len(IDS)))
    manifest = Manifest.read(snapshot)
    with pytest.raises(SnapshotInvalid, match="checksum"):
        Router.open(snapshot)
    files = {**manifest.files, INTENT_TOOLS: file_sha256(snapshot / INTENT_TOOLS)}
    replace(manifest, files=files).write(snapshot)
    with pytest.raises(SnapshotInvalid, match="past requests"):
        Router.open(snapshot)


@pytest.mark.parametrize("texts", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_a_build_learns_from_what_its_router_logged_where_texts_are_kept(
    office: Built, snapshot: Path, texts: bool
) -> None:
    folder = office.catalog / "feedback"
    with Router.open(snapshot, feedback=FeedbackLog(folder, texts=texts)) as router:
        before = {request: router.route(request, feedback=False) for request in REQUESTS}
        for request, tool_id in REQUESTS.items():
            routed = router.route(request, k=2)
            # What was not offered is named by somebody who knows.
            router.feedback(routed if tool_id in routed.ids else request, tool_id, "succeeded")
    with Router.open(office.build(feedback="feedback").snapshot) as taught:
        assert event_files(folder) == [] and (folder / "events.parquet").exists()
        learned = taught.manifest.tuning["intents"]
        if not texts:
            assert learned["skipped"] == "there are no past requests"
            return
        assert learned["skipped"] == "", learned
        assert learned["feedback"]["requests"] == len(REQUESTS) <= learned["feedback"]["answers"]
        assert Signal.INTENT in taught.manifest.signals
        after = {request: taught.route(request) for request in REQUESTS}
    gained = [before[r].ids.index(tool_id) - after[r].ids.index(tool_id) for r, tool_id in REQUESTS.items()]
    assert sum(gained) > 0


def past(count: int, requests_a_vector: int = 1) -> PastRequests:
    """Past requests of two words of their tool's description and two of another's, with vectors that say nothing; those
    of one vector led to different tools."""
    random = np.random.default_rng(5)
    vectors = np.repeat(random.normal(size=(count // requests_a_vector, 32)), requests_a_vector, axis=0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    uses = []
    for n in range(count):
        if n % requests_a_vector == 0:
            led = random.permutation(len(TOOLS))
        own, other = led[n % requests_a_vector], led[-1]
        words = [random.choice(TOOLS[tool]["description"].split(), 2, replace=False) for tool in (own, other)]
        uses.append(PastRequest(" ".join([*words[0], *words[1], str(n)]), {IDS[own]: 1.0}))
    return PastRequests(UsageLog(tuple(uses)), vectors.astype(np.float32))


def test_weights_follow_the_lists_that_past_requests_bear_out(snapshot: Path) -> None:
    opened = Snapshot.open(snapshot)
    learned = learn_from_use(opened, past(120), True, SilentProgress())
    own, fitted = opened.recipe, learned.recipe
    assert fitted.name == "default-fitted" and learned.evidence["weights"]["kept"] == ""
    lexical = (Signal.NAME, Signal.DESCRIPTION, Signal.EXPANSION)
    assert sum(fitted.weights[s] for s in lexical) > sum(own.weights[s] for s in lexical)
    assert fitted.weights[Signal.DENSE] == own.weights[Signal.DENSE]


def test_a_signal_that_ranks_past_requests_worse_is_not_built(snapshot: Path) -> None:
    # Each is told by three others to take their tools.
    learned = learn_from_use(Snapshot.open(snapshot), past(400, 4), False, SilentProgress())
    assert learned.intents is None
    assert learned.evidence["intents"]["left_out"]["interval"][1] < 0
    assert "worse with it, by more than chance" in learned.evidence["intents"]["skipped"]
    assert learned.evidence["weights"] == {"kept": "tuning.fit_weights is false"}


def test_without_an_encoder_past_requests_still_fit_weights(snapshot: Path) -> None:
    learned = learn_from_use(Snapshot.open(snapshot), PastRequests(past(120).usage), True, SilentProgress())
    assert learned.intents is None and learned.evidence["intents"]["skipped"] == "there is no encoder"
    assert learned.evidence["weights"]["requests"] == 120
