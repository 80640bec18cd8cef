"""Nothing ends the watching but `close`: not a panic, not a lack of memory, not a store that fails. Watchers that start
together do not look together.
"""

import random
import time
from collections.abc import Callable
from itertools import accumulate, islice
from pathlib import Path

import pytest

from router import Router
from router.fingerprint import file_sha256
from router.snapshot.reloading import pauses_between_looks
from router.snapshot.snapshot import Snapshot
from router.store import SnapshotStore
from tests.support.publishing import Publications, sign

LOOK = 0.02


@pytest.fixture
def office(tmp_path: Path, snapshot: Path) -> Publications:
    publications = Publications(tmp_path, snapshot)
    for name in ("first", "second", "third"):
        publications.add(name)
    publications.publish("first")
    return publications


def until(happens: Callable[[], object]) -> bool:
    """Wait until something happens; return False where it does not happen within two minutes."""
    end = time.monotonic() + 120
    while not happens() and time.monotonic() < end:
        time.sleep(0.005)
    return bool(happens())


def panicking(folder: Path) -> None:
    """Overwrite numbers of an index, which make Tantivy panic when it is opened."""
    path = next((folder / "name").glob("*.fast"))
    data = bytearray(path.read_bytes())
    data[50:58] = b"\xff" * 8
    path.unlink()  # a link
    path.write_bytes(data)
    sign(folder, lambda manifest: manifest["files"].update({f"name/{path.name}": file_sha256(path)}))


def test_a_snapshot_that_panics_is_refused_and_the_next_serves(
    office: Publications, caplog: pytest.LogCaptureFixture
) -> None:
    panicking(office.folder / "second")
    with Router.open(office.folder, watch=LOOK) as router:
        office.publish("second")
        assert until(lambda: "PanicException" in caplog.text)
        assert router.route("refund").snapshot == "first"
        office.publish("third")
        assert until(lambda: router.manifest.snapshot == "third")


@pytest.mark.parametrize("error", [MemoryError(), RecursionError("deep"), OSError("gone"), SystemExit(1)])
def test_no_error_ends_the_watching(
    office: Publications, error: BaseException, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object, **__: object) -> Snapshot:
        raise error

    with Router.open(office.folder, watch=LOOK) as router, monkeypatch.context() as patched:
        patched.setattr(Snapshot, "open", fails)
        office.publish("second")
        assert until(lambda: caplog.records)
        patched.undo()
        office.publish("third")
        assert until(lambda: router.manifest.snapshot == "third")


def test_a_store_that_fails_does_not_end_the_watching(office: Publications, caplog: pytest.LogCaptureFixture) -> None:
    class Failing(SnapshotStore):
        failures = 0

        def publication(self) -> tuple[str, int] | None:
            if self.failures:
                self.failures -= 1
                raise BaseException("the client of a bucket")
            return super().publication()

    store = Failing.at(office.folder)
    assert isinstance(store, Failing)
    with Router.open(store, watch=LOOK) as router:
        store.failures = 2
        assert until(lambda: not store.failures)
        office.publish("second")
        assert until(lambda: router.manifest.snapshot == "second")
    assert "looking for a new snapshot failed" in caplog.text


def test_a_thousand_watchers_that_start_together_look_all_through_the_interval() -> None:
    looks = [[*accumulate(islice(pauses_between_looks(5.0, random.Random(seed)), 40))] for seed in range(1_000)]
    for begin in (0, 10, 100):
        by_tenth = [
            sum(begin + tenth / 2 <= at < begin + (tenth + 1) / 2 for row in looks for at in row) for tenth in range(10)
        ]
        assert sum(by_tenth) == pytest.approx(1_000, rel=0.05)  # one look each in five seconds
        assert max(by_tenth) < 150  # all 1,000 without the spread


def test_two_looks_are_an_interval_apart_within_a_tenth_of_it() -> None:
    first, *others = islice(pauses_between_looks(5.0, random.Random(1)), 1_000)
    assert 0 <= first <= 5
    assert 4.5 <= min(others) < 4.55 < 5.45 < max(others) <= 5.5
