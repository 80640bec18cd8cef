"""Once a snapshot serves, nothing that follows makes its build a failure."""

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.errors import RunAborted
from pipeline.ledger import Ledger
from pipeline.progress import SilentProgress
from pipeline.settings import load

Run = Callable[[], BuildReport]


class Notes(SilentProgress):
    """Keeps what a build says."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, message: str) -> None:
        """Keep it."""
        self.said.append(message)


@pytest.fixture
def notes() -> Notes:
    """What the builds say."""
    return Notes()


@pytest.fixture
def run(tmp_path: Path, notes: Notes) -> Run:
    """Build a catalog of two tools."""
    file = tmp_path / "tools.jsonl"
    tools = [{"name": name, "description": f"Does {name}."} for name in ("mail", "chat")]
    file.write_text("".join(json.dumps(tool) + "\n" for tool in tools), encoding="utf-8")
    overrides = {"vectors": {"encoder": "none"}, "enrichment": {"generator": "lexicon"}}
    settings = load(file, overrides, environment={})
    return lambda: build(settings, workspace=tmp_path / "ws", progress=notes)


def _raising(error: Exception) -> Callable[..., None]:
    def _raise(*_: object, **__: object) -> None:
        raise error

    return _raise


def test_a_ledger_that_cannot_be_written_once_the_snapshot_serves_fails_no_build(
    run: Run, notes: Notes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    full = duckdb.IOException("IO Error: no space left on device")
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "accept_readings", _raising(full))
        report = run()
    assert report.outcome == "published"
    assert any("does not know yet that the snapshot serves: IO Error" in said for said in notes.said)
    (tmp_path / "tools.jsonl").unlink()
    assert run().stale_sources[0].tools == 2, "what serves counts as good"


@pytest.mark.parametrize("stage", ["remove_unused_caches", "save_space", "stored_bytes"])
def test_what_cannot_be_tidied_up_is_told_and_fails_no_build(
    run: Run, notes: Notes, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = PermissionError(13, "Permission denied", "/srv/somebody")
    monkeypatch.setattr(f"pipeline.build.publishing.{stage}", _raising(refused))
    assert run().outcome == "published"
    assert any(
        said.endswith("could not be removed: [Errno 13] Permission denied: '/srv/somebody'") for said in notes.said
    )


def test_only_an_error_of_the_disk_or_of_a_file_there_is_blamed_on_the_workspace(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail_with(error: OSError) -> None:
        monkeypatch.setattr("pipeline.build.run.run_stages", _raising(error))

    for error in (OSError(28, "No space left on device"), PermissionError(13, "denied", str(tmp_path / "ws" / "x"))):
        fail_with(error)
        with pytest.raises(RunAborted, match=r"the workspace .* could not be written"):
            run()
    fail_with(FileNotFoundError(2, "No such file", "/catalog/usage.jsonl"))
    with pytest.raises(FileNotFoundError):
        run()
