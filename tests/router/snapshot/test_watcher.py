"""Nothing ends the watching but `close`: not a panic, not a lack of memory, not a store that fails."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from router import Router
from router.fingerprint import file_sha256
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
    """Wait until something happens; return False where it does not happen within 20 seconds."""
    end = time.monotonic() + 20
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
