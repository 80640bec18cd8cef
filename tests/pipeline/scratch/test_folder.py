"""The scratch folder goes when its build ends, and what it holds takes no memory."""

import errno
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pipeline.scratch import ScratchFolder, mapped_array, release

_KILLED = """
import os, signal, sys
from pathlib import Path
from pipeline.scratch import ScratchFolder
with ScratchFolder.open(Path(sys.argv[1])) as scratch:
    scratch.file("shard").write_text("left")
    os.kill(os.getpid(), signal.SIGKILL)
"""
_LIMITED = """
import resource, sys
from pathlib import Path
from pipeline.scratch import ScratchFolder
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
with ScratchFolder.open(Path(sys.argv[1])) as scratch:
    try:
        scratch.array((1_000_000,))
    except OSError as error:
        print(error.errno)
"""
_FILLED = """
import sys
from pathlib import Path
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


def test_nothing_is_left_of_a_folder_after_the_block(tmp_path: Path) -> None:
    with ScratchFolder.open(tmp_path) as scratch:
        paths = [scratch.file("a"), scratch.file("a")]
        for path in paths:
            path.touch()
        assert len(set(paths)) == 2
    assert list(tmp_path.iterdir()) == []


def test_an_array_takes_room_on_the_disk_only_while_it_is_held(tmp_path: Path) -> None:
    with ScratchFolder.open(tmp_path) as scratch:
        array = scratch.array((3, 2))
        array[1] = 7
        assert list(scratch.path.iterdir()) == []
    assert array.tolist() == [[0, 0], [7, 7], [0, 0]]


def test_nothing_is_left_of_a_folder_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), ScratchFolder.open(tmp_path):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_build_left_goes_with_the_next(tmp_path: Path) -> None:
    assert _run(_KILLED, str(tmp_path)).returncode == -signal.SIGKILL
    left = list(tmp_path.rglob("*-shard"))
    assert len(left) == 1
    with ScratchFolder.open(tmp_path):
        assert not left[0].exists()


@pytest.mark.skipif(sys.platform != "linux", reason="space is reserved on Linux")
def test_an_array_that_the_disk_has_no_room_for_is_an_error_and_no_crash(tmp_path: Path) -> None:
    ended = _run(_LIMITED, str(tmp_path))
    assert (ended.returncode, ended.stdout.strip()) == (0, str(errno.EFBIG))


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_an_array_takes_no_memory_of_its_own_and_gives_back_its_pages(tmp_path: Path) -> None:
    ended = _run(_FILLED, str(tmp_path))
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
