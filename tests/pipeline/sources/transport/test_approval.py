"""Commands of a catalog run once their user has allowed them, with little of the environment."""

import json
import os
import sys
from pathlib import Path

import pytest

from pipeline.build import build
from pipeline.build.plan import plan
from pipeline.errors import CommandNotRun, SettingsInvalid
from pipeline.settings import CatalogSettings, load
from pipeline.sources import read
from pipeline.sources.transport.approval import (
    approvals_path,
    not_approved,
    permissions_of,
    require_approved,
    without_commands,
)
from tests.support.command_line import called
from tests.support.quick import QUICK

TOOL = {"id": "a/add", "name": "add", "provider": "a", "description": "Adds numbers.", "parameters": {}}
SCRIPT = f"import json, os\nopen('ran', 'w').write(json.dumps(sorted(os.environ)))\nprint({json.dumps(TOOL)!r})\n"


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalog whose one source is a command that writes down what it saw of the environment."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "catalog"
    folder.mkdir()
    (folder / "print.py").write_text(SCRIPT, encoding="utf-8")
    command = json.dumps([sys.executable, "print.py"])
    (folder / "catalog.toml").write_text(f'[[source]]\nformat = "jsonl"\ncommand = {command}\n', encoding="utf-8")
    return folder


def loaded(catalog: Path) -> CatalogSettings:
    return load(catalog, QUICK, environment={})


def test_without_a_terminal_a_new_command_is_told_and_not_run(catalog: Path, tmp_path: Path) -> None:
    for more, code in ((["--plan"], 3), ([], 2)):
        ended = called(tmp_path, "build", catalog, "--workspace", tmp_path / "ws", "--encoder", "none", *more)
        assert ended.returncode == code and "print.py" in ended.stderr
        assert not (catalog / "ran").exists()


def test_a_command_gets_no_secret_and_a_plan_and_a_build_without_commands_take_its_last_reading(
    catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = loaded(catalog)
    monkeypatch.setenv("SECRET_KEY", "s3cret")
    with pytest.raises(CommandNotRun, match="was not run"):
        plan(settings, workspace=tmp_path / "ws")
    build(settings, workspace=tmp_path / "ws")
    seen = json.loads((catalog / "ran").read_text(encoding="utf-8"))
    assert "PATH" in seen and "SECRET_KEY" not in seen
    (catalog / "ran").unlink()
    planned = plan(settings, workspace=tmp_path / "ws")
    assert (planned.unchanged, [stale.source for stale in planned.stale]) == (1, ["print.py"])
    assert build(without_commands(settings), workspace=tmp_path / "ws").counts["tools"] == 1
    assert not (catalog / "ran").exists()


def test_a_source_that_was_not_run_is_left_out_beside_others(catalog: Path) -> None:
    (catalog / "more.jsonl").write_text(json.dumps({**TOOL, "id": "a/other", "name": "other"}), encoding="utf-8")
    text = (catalog / "catalog.toml").read_text(encoding="utf-8")
    (catalog / "catalog.toml").write_text(f'{text}[[source]]\npath = "more.jsonl"\n', encoding="utf-8")
    reading = read(without_commands(loaded(catalog)))
    assert [tool.id for tool in reading.tools] == ["a/other"]
    assert [gap.skipped for gap in reading.gaps] == [True]


def test_what_was_allowed_stays_so_until_the_command_its_script_or_folder_changes(catalog: Path) -> None:
    with pytest.raises(SettingsInvalid, match="--allow-commands"):
        require_approved(loaded(catalog))
    require_approved(loaded(catalog), allow=True)
    require_approved(loaded(catalog))
    assert approvals_path().stat().st_mode & 0o777 == 0o600
    (catalog / "print.py").write_text(f"{SCRIPT}#", encoding="utf-8")
    assert not_approved(permissions_of(loaded(catalog)))
    (catalog / "print.py").write_text(SCRIPT, encoding="utf-8")
    require_approved(loaded(catalog))
    catalog.rename(catalog.with_name("elsewhere"))
    assert not_approved(permissions_of(loaded(catalog.with_name("elsewhere"))))


def test_allowed_commands_run_where_they_cannot_be_remembered(
    catalog: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "quartermaster").symlink_to(tmp_path / "nowhere")
    require_approved(loaded(catalog), allow=True)
    assert "cannot be written" in caplog.text
    with pytest.raises(SettingsInvalid, match="nobody has allowed"):
        require_approved(loaded(catalog))


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_approvals_that_others_can_write_are_refused(catalog: Path, mode: int) -> None:
    require_approved(loaded(catalog), allow=True)
    os.chmod(approvals_path(), mode)
    with pytest.raises(SettingsInvalid, match="written by others"):
        require_approved(loaded(catalog))


def test_a_catalog_that_runs_no_source_still_needs_leave_for_its_hook(catalog: Path) -> None:
    text = '[sources]\nrun_commands = false\n[notify]\ncommand = ["./tell.sh"]\n'
    (catalog / "catalog.toml").write_text(f'{text}[[source]]\npath = "more.jsonl"\n', encoding="utf-8")
    with pytest.raises(SettingsInvalid, match=r"tell\.sh"):
        require_approved(loaded(catalog))
    require_approved(without_commands(loaded(catalog)))
