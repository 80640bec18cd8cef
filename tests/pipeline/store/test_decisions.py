"""An operator's decisions and what builds make of them, in a store of each kind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.store import WritableStore, decisions, publication
from router.errors import SettingsInvalid, SnapshotInvalid
from router.store import ReadableStore
from tests.support.publishing import Publications, corrupt
from tests.support.stores import put

Stocked = Callable[..., WritableStore]


@pytest.fixture(params=["folder", "own", "bucket"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def stocked(empty: WritableStore, tmp_path: Path, thinnest: Path) -> Stocked:
    """Stock a store with snapshots, oldest first and named by their content; the last is current.

    A fault is "held" or "damaged", by name.
    """

    def stock(*contents: str, **faults: str) -> WritableStore:
        built = Publications(tmp_path / "built", thinnest)
        for sequence, content in enumerate(contents, 1):
            folder = built.add(
                f"2026{99 - sequence}-{content}",  # the clock goes backwards: the later, the smaller the name
                sequence=sequence,
                content_hash=content[0] * 64,
                inputs_hash=f"inputs of {content[0]}",
                held=["too many rejected"] * (faults.get(content) == "held"),
            )
            put(empty, folder)
        for content, fault in faults.items():
            if fault == "damaged":
                corrupt(empty.local_folder(named(empty, content)))
        empty.publish(named(empty, contents[-1]))
        return empty

    return stock


def named(store: ReadableStore, content: str) -> str:
    """Return the name of the snapshot that was made as `content`."""
    return next(stored.name for stored in store.snapshots() if stored.name.endswith(f"-{content}"))


def serving(store: WritableStore) -> str:
    return str(store.current()).partition("-")[2]


def reasons(store: WritableStore, content: str, inputs: str | None = None) -> tuple[str, ...]:
    return publication.reasons_against(store, "office", content * 64, inputs or f"inputs of {content}")


def test_each_rollback_goes_one_further_back_by_number_and_not_by_name(stocked: Stocked) -> None:
    store = stocked("a", "b", "c")
    names = [decisions.rollback(store), decisions.rollback(store)]
    assert [name[-1] for name in names] == ["b", "a"]
    with pytest.raises(SettingsInvalid, match="nothing to roll back to"):
        decisions.rollback(store)
    assert serving(store) == "a"


def test_rollback_passes_over_what_is_held_or_damaged_or_has_the_same_content(stocked: Stocked) -> None:
    store = stocked("a", "b", "c", "d", "dd", b="damaged", c="held")
    decisions.rollback(store)
    assert serving(store) == "a"


def test_a_held_snapshot_that_was_used_can_be_rolled_back_to(stocked: Stocked) -> None:
    store = stocked("a", "b", "c", b="held")
    decisions.use(store, named(store, "b"))
    store.publish(named(store, "c"))
    decisions.rollback(store)
    assert serving(store) == "b"


def test_a_decision_that_was_killed_midway_changes_nothing(stocked: Stocked, monkeypatch: pytest.MonkeyPatch) -> None:
    store = stocked("a", "b", "c")
    store.publish(named(store, "b"))
    with monkeypatch.context() as patched:
        patched.setattr(store, "publish", _killed)
        with pytest.raises(KeyboardInterrupt):
            decisions.rollback(store)
    assert serving(store) == "b" and not reasons(store, "b")
    assert publication.publish_build(store, named(store, "c")) == ()
    assert not reasons(store, "b")  # it was never rolled back from


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_retention_keeps_the_pinned_the_current_and_what_a_rollback_would_go_to(stocked: Stocked) -> None:
    store = stocked("a", "b", "c", "d", "e", "f", b="damaged", e="held")
    decisions.pin(store, named(store, "d"))
    decisions.use(store, named(store, "c"))
    state = store.state()
    assert state.pin and state.pin.snapshot == named(store, "c")
    removed = store.retain(0)
    # e is the newest held one, f the newest that was left.
    assert {name[-1] for name in removed} == {"b", "d"}
    assert [stored.name[-1] for stored in store.snapshots()] == ["f", "e", "c", "a"]


def test_content_that_was_left_is_held_until_it_is_released_or_used(stocked: Stocked) -> None:
    store = stocked("a", "b")
    left = named(store, "b")
    decisions.rollback(store)
    (reason,) = reasons(store, "b")
    assert f"that of {left}, which was rolled back from at 20" in reason
    assert f"quartermaster snapshots office --release {left}" in reason
    assert reasons(store, "a") == reasons(store, "x") == ()
    assert reasons(store, "x", "inputs of b"), "what else was made of the same inputs"
    assert "rolled back from" in publication.publish_build(store, left)[0] and serving(store) == "a"
    decisions.release(store, left)
    assert reasons(store, "b") == ()
    with pytest.raises(SettingsInvalid, match="was not rolled back from; rolled back from: none"):
        decisions.release(store, left)


def test_an_older_snapshot_by_use_counts_as_a_rollback_and_a_newer_one_does_not(stocked: Stocked) -> None:
    store = stocked("a", "b", "c", "d")
    decisions.use(store, named(store, "a"))
    assert reasons(store, "d") and not reasons(store, "b")
    decisions.use(store, named(store, "c"))
    assert reasons(store, "d") and not reasons(store, "a")
    decisions.rollback(store)
    decisions.use(store, named(store, "d"))  # may serve after all, and c not
    assert reasons(store, "c") and not reasons(store, "d")
    decisions.rollback(store)
    assert serving(store) == "b"


def test_a_damaged_snapshot_may_be_built_again_after_a_rollback_and_not_pinned(stocked: Stocked) -> None:
    store = stocked("a", "b", "bb", bb="damaged")
    with pytest.raises(SnapshotInvalid, match="corrupt"):
        decisions.pin(store, named(store, "bb"))
    assert store.state().pin is None
    decisions.rollback(store)
    assert serving(store) == "b" and store.state().rolled_back == ()
    assert not reasons(store, "b")


def test_a_build_does_not_publish_over_a_pin_which_moves_with_what_an_operator_serves(stocked: Stocked) -> None:
    store = stocked("a", "b", "c")
    assert decisions.pin(store, None) == store.current()
    decisions.rollback(store)
    pin = store.state().pin
    assert pin and pin.snapshot == store.current() == named(store, "b")
    (reason,) = publication.publish_build(store, named(store, "a"))
    assert "is pinned since 20" in reason and "quartermaster snapshots office --unpin" in reason
    assert serving(store) == "b" and not reasons(store, "b")
    assert decisions.unpin(store) == store.current()
    assert publication.publish_build(store, named(store, "a")) == () and serving(store) == "a"
    with pytest.raises(SettingsInvalid, match="no pinned snapshot"):
        decisions.unpin(store)
