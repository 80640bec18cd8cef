"""The scratch folder goes when its build ends, and what it holds takes no memory."""

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from pipeline.scratch import ScratchFolder, mapped_array, release

_KILLED = """
import os, signal, sys
from pathlib import Path
from tempfile import TemporaryDirectory
from pipeline.scratch import ScratchFolder
with ScratchFolder.open(Path(sys.argv[1])) as scratch:
    scratch.file("shard").write_text("left")
    os.kill(os.getpid(), signal.SIGKILL)
"""
_FILLED = """
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from pipeline.scratch import ScratchFolder, release

def held(name):
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(lines[name].split()[0]) // 1024

with ScratchFolder.open(Path(sys.argv[1])) as scratch:
    own, mapped = held("RssAnon"), held("RssFile")
    array = scratch.array((25_000_000,))
    array[:] = 1
    print(held("RssAnon") - own, held("RssFile") - mapped)
    release(array)
    print(held("RssAnon") - own, held("RssFile") - mapped)
    assert array.sum() == 25_000_000
"""


def _run(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("fails", [False, True], ids=["whole", "error"])
def test_nothing_is_left_of_a_folder_or_an_array_after_the_block_however_it_ends(tmp_path: Path, fails: bool) -> None:
    with suppress(KeyError), ScratchFolder.open(tmp_path) as scratch:
        array = scratch.array((3, 2))
        array[1] = 7
        assert list(scratch.path.iterdir()) == []  # an array takes room on the disk only while it is held
        paths = [scratch.file("a"), scratch.file("a")]
        for path in paths:
            path.touch()
        assert len(set(paths)) == 2
        if fails:
            raise KeyError
    assert list(tmp_path.iterdir()) == []
    assert array.tolist() == [[0, 0], [7, 7], [0, 0]]


def test_what_a_killed_build_left_goes_with_the_next(tmp_path: Path) -> None:
    assert _run(_KILLED, str(tmp_path)).returncode == -signal.SIGKILL
    left = list(tmp_path.rglob("*-shard"))
    assert len(left) == 1
    with ScratchFolder.open(tmp_path):
        assert not left[0].exists()


@pytest.mark.skipif(sys.platform != "linux", reason="space is reserved on Linux")
def test_the_whole_space_of_an_array_is_reserved_so_that_a_full_disk_is_an_error_and_no_crash(tmp_path: Path) -> None:
    held = mapped_array(tmp_path / "a.npy", (1_000, 100), np.float32)
    assert (tmp_path / "a.npy").stat().st_blocks * 512 >= held.nbytes


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_an_array_takes_no_memory_of_its_own_and_gives_back_its_pages() -> None:
    with TemporaryDirectory(dir="/var/tmp") as disk:
        ended = _run(_FILLED, disk)
    assert ended.returncode == 0, ended.stderr
    (own, mapped), (_, left) = (map(int, line.split()) for line in ended.stdout.splitlines())
    assert own < 5
    assert mapped > 80
    assert left < 10


def test_an_array_without_rows_has_the_shape_that_was_asked_for(tmp_path: Path) -> None:
    assert mapped_array(tmp_path / "a.npy", (0, 4), np.float32).shape == (0, 4)


def test_an_array_in_memory_has_nothing_to_release() -> None:
    array = np.ones(3)
    release(array)
    assert array.sum() == 3
