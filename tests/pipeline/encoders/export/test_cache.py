"""Exported encoders, once a user: found again, whole or made anew, by one process at a time."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.encoders.export import Export, ExportCache, ExportUse, cache_folder, remove_unused
from pipeline.encoders.export.cache import _name
from router.contract import EncoderManifest
from router.encoding.encoder import read_spec
from router.errors import EncoderInvalid, SettingsInvalid
from tests.support.places import ROOT

SPEC = EncoderManifest("some/model", "r1", "mean", "", 32, 64, "fp32")


class Maker:
    """Writes an export's two files; `made` is how often. The first time it may raise."""

    def __init__(self, error: Exception | None = None) -> None:
        self.made = 0
        self._error = error

    def __call__(self, folder: Path) -> Mapping[str, float]:
        self.made += 1
        (folder / "model.onnx").write_bytes(b"weights")
        (folder / "tokenizer.json").write_bytes(b"words")
        if self._error and self.made == 1:
            raise self._error
        return {"least": 1.0}


def contents(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def test_an_export_is_made_once_a_user_and_found_again_by_every_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, user = Maker(), tmp_path / "user"
    first = ExportCache([user, tmp_path / "a"]).get(SPEC, make)
    assert first == ExportCache([user, tmp_path / "b"]).get(SPEC, make) == ExportCache([user]).find(SPEC)
    assert first == Export(first.folder, SPEC, {"least": 1.0})
    assert (make.made, contents(user), contents(tmp_path)) == (1, [first.folder.name], ["user"])
    assert read_spec(first.folder) == SPEC
    with pytest.raises(EncoderInvalid, match="not an exported encoder"):
        read_spec(tmp_path)
    assert cache_folder({"QUARTERMASTER_CACHE": "~/kept"}) == Path.home() / "kept" / "encoders"
    with pytest.raises(SettingsInvalid, match="QUARTERMASTER_CACHE is '~nobody-here/kept'"):
        cache_folder({"QUARTERMASTER_CACHE": "~nobody-here/kept"})
    small = ExportCache([user]).get(replace(SPEC, precision="int8"), make)
    assert ExportCache([user]).find_named(SPEC.model) == small and ExportCache([user]).find_named("other") is None
    monkeypatch.setattr("pipeline.encoders.export.cache.EXPORT_VERSION", 999)
    assert ExportCache([user]).find(SPEC) is ExportCache([user]).find_named(SPEC.model) is None


@pytest.mark.parametrize(
    "change",
    [
        {"model": "../../up"},
        {"revision": "r2"},
        {"pooling": "cls"},
        {"query_prefix": "ask: "},
        {"dim": 33},
        {"max_length": 65},
        {"precision": "int8"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_an_export_depends_on_gives_another_folder_beside_it(tmp_path: Path, change: dict[str, str]) -> None:
    make, cache, other = Maker(), ExportCache([tmp_path]), replace(SPEC, **change)  # type: ignore[arg-type]
    folders = {cache.get(spec, make).folder for spec in (SPEC, other)}
    assert len(folders) == make.made == 2 and {folder.parent for folder in folders} == {tmp_path}


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "export.json"])
@pytest.mark.parametrize("harm", [lambda path: path.write_bytes(b"harm"), lambda path: path.unlink()])
def test_a_damaged_export_is_made_again_and_told(tmp_path: Path, name: str, harm: Callable[[Path], None]) -> None:
    make, notes = Maker(), list[str]()
    cache = ExportCache([tmp_path], notes.append)
    harm(cache.get(SPEC, make).folder / name)
    again = cache.get(SPEC, make)
    assert make.made == 2 and cache.find(SPEC) == again
    assert notes == [f"the exported encoder in {again.folder} is damaged: it is made again"]


def test_a_folder_that_cannot_be_written_is_told_once_and_the_workspaces_is_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    unwritable, workspace = tmp_path / "file" / "cache", tmp_path / "ws"
    make, notes = Maker(), list[str]()
    cache = ExportCache([unwritable, workspace], notes.append)
    made = cache.get(SPEC, make)
    assert made.folder.parent == workspace
    assert cache.get(SPEC, make) == made and make.made == 1
    assert len(notes) == 1 and "cannot be written" in notes[0] and str(workspace) in notes[0]
    with pytest.raises(EncoderInvalid, match=r"written nowhere.*Not a directory"):
        ExportCache([unwritable]).get(SPEC, make)


def test_a_full_disk_and_an_export_that_fails_leave_nothing(tmp_path: Path) -> None:
    notes: list[str] = []
    full = Maker(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    made = ExportCache([tmp_path / "user", tmp_path / "ws"], notes.append).get(SPEC, full)
    assert made.folder.parent == tmp_path / "ws" and "No space left" in notes[0]
    assert contents(tmp_path / "user") == []
    cache, fail = ExportCache([tmp_path / "user"]), Maker(EncoderInvalid("no agreement"))
    with pytest.raises(EncoderInvalid, match="no agreement"):
        cache.get(SPEC, fail)
    assert contents(tmp_path / "user") == []
    assert cache.get(SPEC, fail).spec == SPEC


def test_of_two_at_once_one_exports_and_the_other_waits_and_is_told(tmp_path: Path) -> None:
    make, waits = Maker(), threading.Event()
    made: list[Export] = []

    def slow(folder: Path) -> Mapping[str, float]:
        second.start()
        assert waits.wait(30)
        return make(folder)

    def heard(note: str) -> None:
        assert "waiting for it" in note
        waits.set()

    second = threading.Thread(target=lambda: made.append(ExportCache([tmp_path], heard).get(SPEC, make)))
    made.append(ExportCache([tmp_path]).get(SPEC, slow))
    second.join(30)
    assert make.made == 1 and made[0] == made[1] and len(made) == 2


def test_a_killed_process_blocks_nobody_and_its_remains_go(tmp_path: Path) -> None:
    code = f"""
import time
from pathlib import Path
from router.contract import EncoderManifest
from pipeline.encoders.export import ExportCache
def make(folder):
    (folder / "model.onnx").write_bytes(b"half")
    print("exporting", flush=True)
    time.sleep(600)
ExportCache([Path({str(tmp_path)!r})]).get({SPEC!r}, make)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None and process.stdout.readline() == b"exporting\n"
        process.send_signal(signal.SIGKILL)
    assert contents(tmp_path) == [f".making-{_name(SPEC)}"]
    notes: list[str] = []
    made = ExportCache([tmp_path], notes.append).get(SPEC, Maker())
    assert (contents(tmp_path), notes) == ([made.folder.name], [])


def test_a_refusal_is_remembered_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folders = [tmp_path / "file" / "cache", tmp_path / "ws"]
    assert ExportCache(folders).refusal(SPEC) is None
    ExportCache(folders).refuse(SPEC, "mean cosine .9")
    assert ExportCache(folders).refusal(SPEC) == "mean cosine .9"
    assert ExportCache(folders).refusal(replace(SPEC, revision="r2")) is None
    ExportCache(folders[:1]).refuse(SPEC, "nowhere to write")  # is tried again then
    assert ExportCache(folders[:1]).refusal(SPEC) is None


_MONTHS = 60 * 86_400


def _age(path: Path) -> None:
    os.utime(path, (time.time() - _MONTHS,) * 2)


@pytest.fixture
def made(tmp_path: Path) -> Export:
    return ExportCache([tmp_path]).get(SPEC, Maker())


def test_an_export_that_nothing_used_for_a_month_is_removed_and_a_snapshot_keeps_its_link(
    made: Export, tmp_path: Path
) -> None:
    assert remove_unused(tmp_path) == remove_unused(tmp_path / "missing") == []
    os.link(made.folder / "model.onnx", tmp_path / "linked.onnx")
    content = (tmp_path / "linked.onnx").read_bytes()
    _age(made.folder / "export.json")
    assert remove_unused(tmp_path) == [made.folder.name]
    assert not made.folder.exists() and (tmp_path / "linked.onnx").read_bytes() == content


def test_finding_an_export_counts_as_its_use(made: Export, tmp_path: Path) -> None:
    _age(made.folder / "export.json")
    ExportCache([tmp_path]).find(SPEC)
    assert remove_unused(tmp_path) == []


def test_an_export_of_a_running_build_stays_whatever_the_clock_says(made: Export, tmp_path: Path) -> None:
    use = ExportUse(made.folder)
    _age(made.folder / "export.json")
    assert remove_unused(tmp_path) == []
    del use
    assert remove_unused(tmp_path) == [made.folder.name]


def test_what_a_killed_export_left_is_removed_after_a_day_and_other_folders_are_left_alone(tmp_path: Path) -> None:
    for name in (".making-old", ".making-new", "notes"):
        (tmp_path / name).mkdir()
    _age(tmp_path / ".making-old")
    _age(tmp_path / "notes")
    assert remove_unused(tmp_path) == []
    assert {path.name for path in tmp_path.iterdir()} == {".making-new", "notes"}
