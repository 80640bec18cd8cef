"""Nights after a rollback, under a pin, and with a wrong clock: no build undoes what an operator decided."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.publish import snapshot_writing
from pipeline.settings import load
from router.errors import SnapshotInvalid
from router.snapshot.store import local
from router.store import SnapshotStore, decisions
from tests.support.quick import QUICK

Night = Callable[..., BuildReport]


@pytest.fixture
def catalog(catalog_folder: Path, tmp_path: Path) -> Path:
    """A copy of the session's catalog, to be changed."""
    return shutil.copytree(catalog_folder, tmp_path / "office")


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(tmp_path / "ws", "office")


@pytest.fixture
def night(catalog: Path, tmp_path: Path) -> Night:
    """Build the catalog after its first tool was described anew, or unchanged without a description."""

    def _night(description: str | None = None, *, force: bool = False, **publish: Any) -> BuildReport:
        path = catalog / "tools.jsonl"
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        rows[0]["description"] = description or rows[0]["description"]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        settings = load(catalog, {**QUICK, "publish": publish}, environment={})
        return build(settings, workspace=tmp_path / "ws", force=force)

    return _night


class Clock(datetime):
    """A clock that is wrong by `ahead`."""

    ahead = timedelta()

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "Clock":
        return cls.fromtimestamp(datetime.now(UTC).timestamp() + cls.ahead.total_seconds(), tz)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> type[Clock]:
    """Give builds a clock that a test may set."""
    clock = type("SetClock", (Clock,), {})
    monkeypatch.setattr(local, "datetime", clock)
    monkeypatch.setattr(snapshot_writing, "datetime", clock)
    return clock


def test_a_rollback_lasts_until_the_content_changes_or_is_released(night: Night, store: SnapshotStore) -> None:
    good, bad = night("Returns charges."), night("Deletes charges.")
    decisions.rollback(store)
    held = night()
    assert (held.outcome, held.snapshot, held.removed) == ("held", bad.snapshot, ())
    assert f"that of {bad.snapshot.name}, which was rolled back from" in held.held[0]
    assert store.current() == good.snapshot.name
    mended = night("Returns charges, oldest first.")
    assert (mended.outcome, store.current()) == ("published", mended.snapshot.name)
    assert night("Deletes charges.").outcome == "held"  # it is as bad as it was
    decisions.release(store, bad.snapshot.name)
    assert night().outcome == "published"


@pytest.mark.nightly
def test_a_forced_build_of_content_that_was_left_is_held(night: Night, store: SnapshotStore) -> None:
    good, _ = night("Returns charges."), night("Deletes charges.")
    decisions.rollback(store)
    assert night(force=True).outcome == "held"
    assert store.current() == good.snapshot.name


@pytest.mark.nightly
def test_builds_under_a_pin_are_written_once_and_held_and_a_damaged_state_stops_them(
    night: Night, store: SnapshotStore
) -> None:
    pinned = night("Returns charges.")
    decisions.pin(store, None)
    held = night("Returns charges by date.", keep=1)
    assert held.outcome == "held" and "is pinned" in held.held[0]
    assert store.current() == pinned.snapshot.name
    assert night().snapshot == held.snapshot  # no copy
    decisions.unpin(store)
    published = night()
    assert (published.outcome, store.current()) == ("published", published.snapshot.name)
    (store.folder / "state.json").write_text('{"pin": ', encoding="utf-8")
    with pytest.raises(SnapshotInvalid, match=r"state\.json is damaged"):
        night("Deletes charges.")
    assert store.current() == published.snapshot.name


@pytest.mark.nightly
@pytest.mark.parametrize("wrong", [timedelta(days=365), timedelta(days=-365)])
def test_three_nights_with_a_wrong_clock_push_nothing_out(
    night: Night, store: SnapshotStore, clock: type[Clock], wrong: timedelta
) -> None:
    nights = [night(f"Returns charges, version {n}.").snapshot.name for n in range(2)]
    clock.ahead = wrong
    nights += [night(f"Returns charges, version {n}.").snapshot.name for n in range(2, 5)]
    clock.ahead = timedelta()
    nights += [night(f"Returns charges, version {n}.", keep=3).snapshot.name for n in range(5, 7)]
    assert nights != sorted(nights)
    assert [stored.name for stored in store.snapshots()] == nights[:-4:-1]
    assert [stored.order[0] for stored in store.snapshots()] == [7, 6, 5]
    assert store.newest() == nights[-1]
    assert decisions.rollback(store) == nights[-2]
    assert decisions.rollback(store) == nights[-3]
