"""A power loss at any point of a build, a rollback or a retention leaves a whole snapshot serving."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.build import build
from pipeline.errors import RunAborted
from pipeline.settings import load
from pipeline.store import SnapshotStore, decisions
from tests.support.power_loss import PowerLoss, Tree, serves_whole
from tests.support.quick import QUICK
from tests.support.rows import edit

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the recorder reads /proc/self/fd")
OFFICE = "snapshots/office"


@pytest.fixture
def night(catalog: Path, tmp_path: Path) -> Callable[[int], str]:
    """Build the catalog with a description that differs each night, and return the snapshot's name."""

    def _night(number: int) -> str:
        edit(catalog / "tools.jsonl", 0, description=f"Returns charges, version {number}.")
        settings = load(catalog, {**QUICK, "publish": {"keep": 1}}, environment={})
        return build(settings, workspace=tmp_path / "ws").snapshot.name

    return _night


@pytest.mark.parametrize("nights", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_whenever_power_is_lost_what_serves_is_whole_and_no_older_than_was_said(
    night: Callable[[int], str], tmp_path: Path, nights: int
) -> None:
    left: list[str | None] = []
    said: list[str | None] = [None]  # what finished commands said to serve, the last at the end

    def check(tree: Tree) -> None:
        left.append(serves_whole(tree, OFFICE))
        assert left[-1] not in said[:-1]

    (tmp_path / "ws").mkdir()
    losses = PowerLoss(tmp_path / "ws", check)
    with losses.recorded():
        for number in range(nights):
            said.append(night(number))
            assert left[-1] == said[-1]
        assert list(dict.fromkeys(left)) == said
        assert losses.losses > 30 * nights
        if nights > 1:
            older = said.pop(-2)
            assert decisions.rollback(SnapshotStore(tmp_path / "ws", "office")) == left[-1] == older


def test_a_full_disk_ends_a_build_in_a_sentence_and_leaves_nothing(
    night: Callable[[int], str], quick: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SnapshotStore(quick, "office")
    served = store.current()
    monkeypatch.setattr(os, "fsync", _full)
    with pytest.raises(
        RunAborted, match=r"the workspace .* could not be written: .*No space left on device: '.*office"
    ):
        night(1)
    assert [stored.name for stored in store.snapshots()] == [served]
    assert not list((quick / OFFICE).glob(".building-*"))


def _full(_: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
