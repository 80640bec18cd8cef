"""The order of a build's system calls: nothing that CURRENT names is written after it was synced."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT

pytestmark = pytest.mark.nightly  # a traced process

STRACE = shutil.which("strace")
_PATH = re.compile(r"<([^<>]+)>")
_QUOTED = re.compile(r'"([^"]*)"')
# A file that is mapped into memory would be written without a call; none of the writers does that.
_WRITES = ("write", "pwrite64", "writev", "pwritev", "ftruncate", "fallocate", "copy_file_range", "sendfile")
_SYNCS = ("fsync", "fdatasync")
_RENAMES = ("rename", "renameat", "renameat2")


def traced(tmp_path: Path, *command: str | Path) -> list[str]:
    """Return the lines of `strace` for a command; skip where the machine does not allow it."""
    if STRACE is None:
        pytest.skip("strace is not installed")
    trace = tmp_path / "trace"
    calls = ",".join(f"?{call}" for call in (*_WRITES, *_SYNCS, *_RENAMES))
    options = ("-f", "-y", "-qq", "-z", "-s", "999", "-e", "signal=none", "-e", f"trace={calls}", "-o", trace)
    if subprocess.run([STRACE, *options, sys.executable, "-c", ""], capture_output=True).returncode:
        pytest.skip("strace may not trace here")
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [STRACE, *options, *command], cwd=tmp_path, env=environment, check=True, capture_output=True, timeout=120
    )
    return trace.read_text(encoding="utf-8").splitlines()


def test_a_build_syncs_its_files_then_their_folders_then_moves_current(catalog_folder: Path, tmp_path: Path) -> None:
    build = ("-m", "quartermaster", "build", catalog_folder, "--encoder", "none", "--workspace", tmp_path / "ws")
    lines = traced(tmp_path, sys.executable, *build)
    office = tmp_path / "ws" / "snapshots" / "office"
    name = (office / "CURRENT").read_text(encoding="utf-8").strip()
    staged = str(office / f".building-{name}")
    synced: dict[str, int] = {}
    written: dict[str, int] = {}
    renamed: dict[str, int] = {}
    for number, line in enumerate(lines):
        call = line.split(None, 1)[1].partition("(")[0]
        if call in _RENAMES:
            renamed[Path(_QUOTED.findall(line)[-1]).name] = number
        elif found := _PATH.search(line):
            (synced if call in _SYNCS else written)[found.group(1)] = number
    manifest = json.loads((office / name / "manifest.json").read_text(encoding="utf-8"))
    sealed, moved = renamed[name], renamed["CURRENT"]
    for file in (*manifest["files"], "manifest.json"):
        assert written.get(f"{staged}/{file}", -1) < synced[f"{staged}/{file}"] < sealed
    folders = {str(Path(file).parent) for file in manifest["files"]} - {"."}
    assert all(synced[f"{staged}/{folder}"] < sealed for folder in folders)
    assert max(synced[f"{staged}/{file}"] for file in manifest["files"] if "/" not in file) < synced[staged] < sealed
    assert written[f"{office}/.CURRENT"] < synced[f"{office}/.CURRENT"] < moved
    syncs_of_office = [n for n, line in enumerate(lines) if f"<{office}>" in line and "sync(" in line]
    assert any(sealed < number < moved for number in syncs_of_office)
    assert syncs_of_office[-1] > moved
