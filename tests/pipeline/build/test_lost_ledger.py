"""A build that finds half a ledger, or was killed: nothing that was backed up is asked or paid for again."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.ledger import LEDGER_FILE
from pipeline.ledger.commands import check
from pipeline.settings import load
from tests.pipeline.enrichment.model_server import ModelServer
from tests.support.places import ROOT
from tests.support.rows import select, write_rows
from tests.support.small_encoder import vector_settings

# Builds once for each stage, in a process of its own that is killed as the stage begins.
_KILLED = """
import os, signal, sys
from pathlib import Path
from pipeline.build import build
from pipeline.progress import SilentProgress
from pipeline.settings import load

class KilledIn(SilentProgress):
    def start(self, stage, total=None):
        if stage == sys.argv[-1]:
            os.kill(os.getpid(), signal.SIGKILL)

settings = load(Path(sys.argv[1]), {"vectors": {"encoder": "none"}, "enrichment": {"generator": "none"},
    "tuning": {"calibrate": False}})
for stage in sys.argv[3:]:
    sys.argv[-1] = stage
    if not (child := os.fork()):
        build(settings, workspace=Path(sys.argv[2]), progress=KilledIn())
        os._exit(0)
    print(os.WTERMSIG(os.waitpid(child, 0)[1]))
"""
_STAGES = ("read", "enrich", "write", "inspect", "publish")


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    """A model that answers well. It is asked twice about each tool, the second time beside those like it."""
    with ModelServer() as serving:
        yield serving


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog of six tools."""
    folder = tmp_path_factory.mktemp("shop")
    tools = [{"name": f"pay_{n}", "provider": "bank", "description": f"Pays bill {n}."} for n in "abcdef"]
    write_rows(folder / "tools.jsonl", tools)
    return folder


@pytest.fixture(scope="module")
def run(server: ModelServer, encoder_folder: Path) -> Any:
    """Build a catalog in a workspace, asking the model; return the report and how many questions it was asked."""

    def _run(catalog: Path, workspace: Path, contrast: bool = True) -> tuple[BuildReport, int]:
        asked = len(server.requests)
        model = {"generator": "openai", "base_url": server.base_url, "api_key": "sk-loopback", "contrast": contrast}
        overrides: dict[str, dict[str, Any]] = {
            "vectors": vector_settings(encoder_folder),
            "enrichment": model,
            "tuning": {"calibrate": False},
        }
        report = build(load(catalog, overrides, environment={}), workspace=workspace)
        return report, len(server.requests) - asked

    return _run


@pytest.fixture(scope="module")
def built(run: Any, shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace in which the catalog was built."""
    workspace = tmp_path_factory.mktemp("built")
    report, asked = run(shop, workspace)
    assert (report.outcome, asked) == ("published", 12)
    return workspace


@pytest.fixture
def workspace(built: Path, tmp_path: Path) -> Path:
    """A copy of that workspace, to be damaged."""
    return shutil.copytree(built, tmp_path / "ws")


def test_a_lost_ledger_comes_back_from_its_backup_and_nothing_in_it_is_asked_again(
    run: Any, shop: Path, workspace: Path
) -> None:
    (workspace / LEDGER_FILE).write_bytes(b"garbage")
    report, asked = run(shop, workspace)
    assert (report.outcome, asked, report.embedded, report.reused) == ("unchanged", 0, 0, 12)
    assert "is damaged" in report.degraded[0] and "It was restored from" in report.degraded[0]
    assert (workspace / f"{LEDGER_FILE}.damaged-1").read_bytes() == b"garbage"
    outcomes = select(workspace / LEDGER_FILE, "SELECT run_id, outcome FROM runs ORDER BY ALL")
    assert outcomes == [(1, "published"), (2, "unchanged")]
    assert check(workspace).problems == ()


@pytest.mark.nightly
def test_after_a_kill_in_any_stage_the_next_build_starts_and_closes_the_run(shop: Path, tmp_path: Path) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, str(shop), str(tmp_path), *_STAGES, ""],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert killed.stdout.split() == [str(int(signal.SIGKILL))] * len(_STAGES) + ["0"]
    outcomes = [outcome for (outcome,) in select(tmp_path / LEDGER_FILE, "SELECT outcome FROM runs ORDER BY run_id")]
    assert outcomes == ["killed"] * len(_STAGES) + ["published"]
    assert check(tmp_path).problems == ()
