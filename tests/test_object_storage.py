"""The S3 server and the faulty proxy that tests of buckets use: they behave as a bucket does, and fail as told."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import obstore
import pytest
from obstore.exceptions import AlreadyExistsError, BaseError, GenericError, PreconditionError
from obstore.store import S3Store

from tests.support.faults import Fault, Kind
from tests.support.faulty_proxy import FaultyProxy, faulty_proxy
from tests.support.object_storage import Bucket, ObjectStorage

ONCE: Any = {"retry_config": {"max_retries": 0, "retry_timeout": timedelta(seconds=5)}}


@pytest.fixture
def proxy(bucket: Bucket) -> Iterator[FaultyProxy]:
    with faulty_proxy(bucket.port) as proxy:
        yield proxy


@pytest.fixture
def through(bucket: Bucket, proxy: FaultyProxy) -> S3Store:
    """A client that goes through the proxy and tries nothing twice."""
    return bucket.through(proxy.port).store(**ONCE)


def test_of_writers_that_create_the_same_object_one_wins(bucket: Bucket) -> None:
    def create(number: int) -> bool:
        try:
            obstore.put(store, "CURRENT", f"{number}".encode(), mode="create")
        except AlreadyExistsError:
            return False
        return True

    store = bucket.store()
    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(create, range(16))) == 1


def test_of_writers_that_replace_the_same_version_one_wins(bucket: Bucket) -> None:
    store = bucket.store()
    first = obstore.put(store, "CURRENT", b"0")["e_tag"]

    def replace(number: int) -> bool:
        try:
            obstore.put(store, "CURRENT", f"next {number}".encode(), mode={"e_tag": first})
        except PreconditionError:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(replace, range(16))) == 1


def test_a_new_bucket_is_empty(object_storage: ObjectStorage) -> None:
    obstore.put(object_storage.new_bucket().store(), "a", b"1")
    assert not any(obstore.list(object_storage.new_bucket().store()))


def test_a_client_finds_the_bucket_by_the_environment(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in bucket.environment.items():
        monkeypatch.setenv(name, value)
    obstore.put(obstore.store.from_url(f"{bucket.url}/a/prefix"), "key", b"1")
    assert obstore.get(bucket.store(), "a/prefix/key").bytes() == b"1"


# By kind: whether a PUT was done, and whether a GET of four bytes gives them, others (None) or an error.
OUTCOMES: dict[Kind, tuple[bool, str]] = {
    "hang": (False, "error"),
    "break": (False, "error"),
    "slow down": (False, "error"),
    "error": (False, "error"),
    "cut answer": (True, "error"),
    "cut request": (False, "error"),
    "lost answer": (True, "error"),
    "failed answer": (True, "error"),
    "flip answer": (True, "other"),
    "flip request": (False, "same"),
    "delay": (True, "same"),
}


@pytest.mark.parametrize(("kind", "done"), [(kind, done) for kind, (done, _) in OUTCOMES.items()])
def test_a_put_is_done_or_not_by_its_fault(
    kind: Kind, done: bool, bucket: Bucket, proxy: FaultyProxy, through: S3Store
) -> None:
    proxy.plan.set(Fault(kind, "PUT", seconds=0.05))
    outcome = _outcome(lambda: obstore.put(through, "a/key", b"1234") and b"1234")
    assert [one["path"] for page in obstore.list(bucket.store()) for one in page] == (["a/key"] if done else [])
    assert (outcome == "same") == (kind in ("delay", "cut answer", "flip answer")), "the answer to a PUT has no body"
    assert proxy.plan.log[-1].done == done
    assert proxy.plan.counts == {kind: 1}


@pytest.mark.parametrize(("kind", "expected"), [(kind, outcome) for kind, (_, outcome) in OUTCOMES.items()])
def test_a_get_answers_by_its_fault(
    kind: Kind, expected: str, bucket: Bucket, proxy: FaultyProxy, through: S3Store
) -> None:
    obstore.put(bucket.store(), "a/key", b"1234")
    proxy.plan.set(Fault(kind, "GET", seconds=0.05))
    assert _outcome(lambda: bytes(obstore.get(through, "a/key").bytes())) == expected


def test_a_client_tries_again_after_a_slow_down(bucket: Bucket, proxy: FaultyProxy) -> None:
    proxy.plan.set(Fault("slow down", "PUT", times=2))
    obstore.put(bucket.through(proxy.port).store(), "key", b"1")
    assert [entry.status for entry in proxy.plan.log] == [503, 503, 200]


def test_a_fault_meets_the_requests_that_it_names(proxy: FaultyProxy, through: S3Store) -> None:
    proxy.plan.set(Fault("error", "PUT", "files/*", skip=1, times=1))
    keys = ("snapshots/one", "files/a", "files/b", "files/c")
    outcomes = [_outcome(lambda key=key: obstore.put(through, key, b"1") and b"1234") for key in keys]  # type: ignore[misc]
    assert outcomes == ["same", "same", "error", "same"]


def test_the_same_seed_fails_the_same_requests() -> None:
    def drawn(seed: int) -> list[bool]:
        with faulty_proxy(1, seed) as proxy:
            proxy.plan.set(Fault("error", share=0.5))
            return [proxy.plan.draw("GET", "key") is not None for _ in range(64)]

    assert drawn(1) == drawn(1) != drawn(2)


def test_a_proxy_refuses_connections_and_takes_them_again(proxy: FaultyProxy, through: S3Store) -> None:
    obstore.put(through, "key", b"1234")
    proxy.refuse()
    with pytest.raises(GenericError):
        obstore.get(through, "key")
    proxy.accept()
    assert obstore.get(through, "key").bytes() == b"1234"


def test_the_log_tells_what_was_uploaded_and_how_many_bytes_moved(proxy: FaultyProxy, through: S3Store) -> None:
    obstore.put(through, "files/a", b"x" * 1000)
    obstore.put(through, "files/a", b"x" * 1000)
    obstore.get(through, "files/a").bytes()
    assert proxy.plan.uploads() == {"files/a": 2}
    assert proxy.plan.bytes_moved() == 3000


def test_the_log_keeps_what_was_written_and_under_which_condition(proxy: FaultyProxy, through: S3Store) -> None:
    proxy.plan.keep = "*CURRENT"
    etag = obstore.put(through, "a/CURRENT", b"1", mode="create")["e_tag"]
    obstore.put(through, "a/CURRENT", b"2", mode={"e_tag": etag})
    obstore.put(through, "a/file", b"3")
    assert [entry.body for entry in proxy.plan.log] == [b"1", b"2", b""]
    assert [entry.condition for entry in proxy.plan.log] == ["*", etag, ""]


def test_a_fault_can_act_when_the_request_was_done(bucket: Bucket, proxy: FaultyProxy, through: S3Store) -> None:
    found: list[bytes] = []
    proxy.plan.set(Fault("lost answer", act=lambda: found.append(bytes(obstore.get(bucket.store(), "key").bytes()))))
    assert _outcome(lambda: obstore.put(through, "key", b"1")) == "error"
    assert found == [b"1"]


def test_a_stale_listing_hides_what_is_new_and_shows_what_was_deleted(proxy: FaultyProxy, through: S3Store) -> None:
    for key in ("files/kept", "files/deleted", "files/deleted in bulk"):
        obstore.put(through, key, b"1")
    time.sleep(0.3)
    obstore.put(through, "files/new", b"22")
    obstore.delete(through, "files/deleted")
    obstore.delete(through, ["files/deleted in bulk"])
    assert _listed(through) == ["files/kept", "files/new"]
    proxy.plan.set(Fault("stale list", seconds=0.25))
    assert _listed(through) == ["files/deleted", "files/deleted in bulk", "files/kept"]
    proxy.plan.set(Fault("stale list", seconds=0))
    assert _listed(through) == ["files/kept", "files/new"]


def test_a_stale_listing_knows_folders(proxy: FaultyProxy, through: S3Store) -> None:
    for key in ("files/a", "snapshots/one/manifest.json", "CURRENT"):
        obstore.put(through, key, b"1")
    proxy.plan.set(Fault("stale list", seconds=0))
    listing = obstore.list_with_delimiter(through)
    assert list(listing["common_prefixes"]) == ["files", "snapshots"]
    assert [one["path"] for one in listing["objects"]] == ["CURRENT"]


def _listed(store: S3Store) -> list[str]:
    return sorted(one["path"] for page in obstore.list(store, prefix="files") for one in page)


def _outcome(act: Callable[[], object]) -> str:
    """Return how a request of the bytes 1234 ended: "same", "other" bytes or "error"."""
    try:
        return "same" if act() == b"1234" else "other"
    except BaseError:
        return "error"
