"""No snapshot older than what served serves again, unless an operator signs that it shall."""

import json
import logging
import shutil
from pathlib import Path

import pytest

from router import Router, SettingsInvalid, SnapshotUntrusted
from router.contract import MANIFEST, POINTER_SIGNATURE, SIGNATURE
from router.serving.http.metrics import Metrics
from router.serving.page.comparing import SnapshotCache
from router.store import Signing as By
from router.store import SnapshotStore, decisions, sign_snapshot
from tests.support.publishing import look
from tests.support.signing import SignedOffice


@pytest.fixture
def office(tmp_path: Path, snapshot: Path) -> SignedOffice:
    """Three signed snapshots, of which the second serves."""
    made = SignedOffice(tmp_path, snapshot)
    for name in ("first", "second", "third"):
        made.signed(name)
    made.publish("second")
    return made


@pytest.fixture
def store(office: SignedOffice, tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(tmp_path, "office")


def test_a_newer_snapshot_serves_and_an_older_one_is_refused_and_told(
    office: SignedOffice, caplog: pytest.LogCaptureFixture
) -> None:
    router = Router.open(office.folder, trusted_keys=office.keys)
    refused = b"quartermaster_publication_refused 1.0"
    office.publish("first")
    with caplog.at_level(logging.WARNING, "router"):
        look(router)
        look(router)
    assert router.manifest.snapshot == "second"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "has number 1, and second with number 2 has served" in caplog.text
    assert "has number 1" in router.refusal and refused in Metrics(router).exposition()
    office.publish("third")
    look(router)
    assert (router.manifest.snapshot, router.refusal) == ("third", "")
    assert refused not in Metrics(router).exposition()


def test_a_stripped_signature_leaves_the_old_snapshot_serving(office: SignedOffice) -> None:
    router = Router.open(office.folder, trusted_keys=office.keys)
    (office.folder / "third" / SIGNATURE).unlink()
    office.publish("third")
    with pytest.raises(SnapshotUntrusted):
        router.reload()
    look(router)
    assert router.manifest.snapshot == "second"


def test_an_operator_goes_back_by_a_signature_of_a_later_number(
    office: SignedOffice, store: SnapshotStore, tmp_path: Path
) -> None:
    state = tmp_path / "trust.json"
    router = Router.open(office.folder, trusted_keys=office.keys, trust_state=state)
    before = (office.folder / "first" / MANIFEST).read_bytes()
    assert decisions.rollback(store, By(office.signer)) == "first"
    look(router)
    assert router.manifest.snapshot == "first"
    assert json.loads(state.read_text())["office"]["counter"] == 4
    assert (office.folder / "first" / MANIFEST).read_bytes() == before
    replayed = (office.folder / POINTER_SIGNATURE).read_bytes()
    # The snapshot that was left is older now, also for a router that starts again.
    office.publish("second")
    with pytest.raises(SnapshotUntrusted, match="has number 2, and first with number 4 has served"):
        router.reload()
    with pytest.raises(SnapshotUntrusted, match="first with number 4"):
        Router.open(office.folder, trusted_keys=office.keys, trust_state=state)
    decisions.use(store, "second", By(office.signer))
    look(router)
    assert router.manifest.snapshot == "second"
    # An old pointer that is put back makes nothing serve.
    (office.folder / POINTER_SIGNATURE).write_bytes(replayed)
    office.publish("first")
    with pytest.raises(SnapshotUntrusted, match="number 4, and second with number 5"):
        router.reload()


def test_the_next_build_is_newer_than_a_rollback(office: SignedOffice, store: SnapshotStore) -> None:
    decisions.rollback(store, By(office.signer))
    router = Router.open(office.folder, trusted_keys=office.keys)
    number = decisions.next_sequence(store)
    assert number == 5
    office.signed("fourth", sequence=number)
    office.publish("fourth")
    assert router.reload() and router.manifest.snapshot == "fourth"


def test_a_build_that_an_operator_overtook_is_signed_as_the_newest(office: SignedOffice, store: SnapshotStore) -> None:
    decisions.rollback(store, By(office.signer))
    router = Router.open(office.folder, trusted_keys=office.keys)
    store.publish("third")  # a build that took number 3 before the rollback took 4
    with pytest.raises(SnapshotUntrusted):
        router.reload()
    decisions.sign_published(store, "third", office.signer)
    assert router.reload() and router.manifest.snapshot == "third"


def test_a_rollback_without_a_key_is_refused_unless_it_is_wanted(office: SignedOffice, store: SnapshotStore) -> None:
    with pytest.raises(SettingsInvalid, match="give --sign-key FILE, or --unsigned"):
        decisions.rollback(store)
    assert store.current() == "second"
    assert decisions.rollback(store, By(optional=True)) == "first"


def test_a_held_snapshot_serves_once_it_is_signed(office: SignedOffice, store: SnapshotStore) -> None:
    held = office.signed("held", held=["too few tools"])
    (held / SIGNATURE).unlink()  # as a build leaves it
    before = (held / MANIFEST).read_bytes()
    router = Router.open(office.folder, trusted_keys=office.keys)
    with pytest.raises(SettingsInvalid, match="not signed"):
        decisions.use(store, "held")
    decisions.use(store, "held", By(office.signer))
    assert router.reload() and router.manifest.snapshot == "held"
    assert (held / MANIFEST).read_bytes() == before


def test_two_snapshots_of_one_number_do_not_follow_each_other(office: SignedOffice) -> None:
    router = Router.open(office.folder, trusted_keys=office.keys)
    office.signed("twin", sequence=2)
    office.publish("twin")
    with pytest.raises(SnapshotUntrusted, match="has number 2, and second with number 2 has served"):
        router.reload()


def test_a_state_outlasts_a_restart_and_is_shared_by_catalogs(office: SignedOffice, tmp_path: Path) -> None:
    state = tmp_path / "state" / "trust.json"
    with pytest.raises(SnapshotUntrusted, match="Its folder must be writable"):
        Router.open(office.folder, trusted_keys=office.keys, trust_state=state)
    state.parent.mkdir()
    for _ in range(2):  # the same snapshot again
        Router.open(office.folder, trusted_keys=office.keys, trust_state=state)
    office.signed("foreign", catalog="crm", sequence=1)
    Router.open(office.folder / "foreign", trusted_keys=office.keys, catalog="crm", trust_state=state)
    office.publish("first")
    with pytest.raises(SnapshotUntrusted, match="second with number 2 has served"):
        Router.open(office.folder, trusted_keys=office.keys, trust_state=state)
    assert json.loads(state.read_text()).keys() == {"crm", "office"}


@pytest.mark.parametrize("text", ["", "[]", '{"office": {"counter": 0}}', "{" * 90_000])
def test_a_damaged_state_stops_the_router(office: SignedOffice, tmp_path: Path, text: str) -> None:
    state = tmp_path / "trust.json"
    state.write_text(text)
    with pytest.raises(SettingsInvalid, match=r"trust\.json cannot be read"):
        Router.open(office.folder, trusted_keys=office.keys, trust_state=state)


def test_a_snapshot_that_does_not_open_is_not_counted_as_served(office: SignedOffice) -> None:
    router = Router.open(office.folder, trusted_keys=office.keys)
    names = list((office.folder / "third").glob("*.npy"))
    names[0].unlink()
    office.publish("third")
    with pytest.raises(Exception, match="cannot be read"):
        router.reload()
    office.signed("twin", sequence=3)
    office.publish("twin")
    assert router.reload()


def test_pages_compare_older_signed_snapshots_and_no_others(office: SignedOffice) -> None:
    router = Router.open(office.folder, trusted_keys=office.keys)
    cache = SnapshotCache(office.folder, router.trust)
    assert cache.opened("first").manifest.snapshot == "first"
    (office.folder / "third" / SIGNATURE).unlink()
    with pytest.raises(SnapshotUntrusted):
        cache.opened("third")


def test_signing_verifies_the_whole_snapshot_first(office: SignedOffice) -> None:
    third = office.folder / "third"
    (third / SIGNATURE).unlink()
    database = third / "catalog.duckdb"
    shutil.copyfile(database, third / "other")
    (third / "other").replace(database)
    with database.open("r+b") as stream:
        stream.write(b"x")
    with pytest.raises(Exception, match="corrupt"):
        sign_snapshot(third, office.signer)
    assert not (third / SIGNATURE).exists()
