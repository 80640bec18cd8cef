"""Nights after a rollback, under a pin, and with a wrong clock: no build undoes what an operator decided."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.settings import load
from pipeline.store import SnapshotStore, decisions
from router.errors import SnapshotInvalid
from tests.support.quick import QUICK
from tests.support.rows import edit

Night = Callable[..., BuildReport]


@pytest.fixture
def store(quick: Path) -> SnapshotStore:
    """The store in which the catalog was published once."""
    return SnapshotStore(quick, "office")


@pytest.fixture
def night(catalog: Path, quick: Path) -> Night:
    """Build the catalog after its first tool was described anew, or unchanged without a description."""

    def _night(description: str | None = None, *, force: bool = False, **publish: Any) -> BuildReport:
        if description:
            edit(catalog / "tools.jsonl", 0, description=description)
        settings = load(catalog, {**QUICK, "publish": publish}, environment={})
        return build(settings, workspace=quick, force=force)

    return _night


def test_a_rollback_lasts_until_the_content_changes_or_is_released(night: Night, store: SnapshotStore) -> None:
    good, bad = store.current(), night("Deletes charges.")
    decisions.rollback(store)
    held = night()
    assert (held.outcome, held.snapshot, held.removed) == ("held", bad.snapshot, ())
    assert night(force=True).outcome == "held"
    assert f"that of {bad.snapshot.name}, which was rolled back from" in held.held[0]
    assert store.current() == good
    mended = night("Returns charges, oldest first.")
    assert (mended.outcome, store.current()) == ("published", mended.snapshot.name)
    assert night("Deletes charges.").outcome == "held"  # it is as bad as it was
    decisions.release(store, bad.snapshot.name)
    last = night(keep=1).to_json()
    assert (last["outcome"], {*last["removed"]}) == ("published", {good, bad.snapshot.name}) and last["freed_bytes"] > 0


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
