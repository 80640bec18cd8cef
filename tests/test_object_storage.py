"""The S3 server and the faulty proxy of the tests behave as a bucket does, and fail as told."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import obstore
import pytest
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import S3Store

from tests.support.faults import Fault, Kind
from tests.support.faulty_proxy import FaultyProxy, faulty_proxy
from tests.support.object_storage import Bucket

ONCE: Any = {"retry_config": {"max_retries": 0, "retry_timeout": timedelta(seconds=5)}}


@pytest.fixture
def proxy(bucket: Bucket) -> Iterator[FaultyProxy]:
    with faulty_proxy(bucket.port) as proxy:
        yield proxy


@pytest.fixture
def through(bucket: Bucket, proxy: FaultyProxy) -> S3Store:
    """A client that goes through the proxy and tries nothing twice."""
    return bucket.through(proxy.port).store(**ONCE)


@pytest.mark.parametrize("mode", ["create", "replace"])
def test_of_writers_on_the_same_condition_one_wins(bucket: Bucket, mode: Any) -> None:
    store = bucket.store()
    condition: Any = mode if mode == "create" else {"e_tag": obstore.put(store, "CURRENT", b"0")["e_tag"]}

    def write(number: int) -> bool:
        try:
            obstore.put(store, "CURRENT", f"next {number}".encode(), mode=condition)
        except (AlreadyExistsError, PreconditionError):
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, range(16))) == 1


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


@pytest.mark.parametrize("kind", OUTCOMES)
def test_faults_of_a_put_and_of_a_get(kind: Kind, bucket: Bucket, proxy: FaultyProxy, through: S3Store) -> None:
    done, answered = OUTCOMES[kind]
    proxy.plan.set(Fault(kind, "PUT", seconds=0.05))
    outcome = _outcome(lambda: obstore.put(through, "a/key", b"1234") and b"1234")
    assert [one["path"] for page in obstore.list(bucket.store()) for one in page] == (["a/key"] if done else [])
    assert (outcome == "same") == (kind in ("delay", "cut answer", "flip answer")), "the answer to a PUT has no body"
    assert proxy.plan.log[-1].done == done and proxy.plan.counts == {kind: 1}
    obstore.put(bucket.store(), "a/key", b"1234")
    proxy.plan.set(Fault(kind, "GET", seconds=0.05))
    assert _outcome(lambda: bytes(obstore.get(through, "a/key").bytes())) == answered


def test_a_fault_meets_the_requests_that_it_names(bucket: Bucket, proxy: FaultyProxy, through: S3Store) -> None:
    found: list[bytes] = []

    def read() -> None:
        found.append(bytes(obstore.get(bucket.store(), "files/b").bytes()))

    proxy.plan.set(Fault("lost answer", "PUT", "files/*", skip=1, times=1, act=read))
    keys = ("snapshots/one", "files/a", "files/b", "files/c")
    outcomes = [_outcome(lambda key=key: obstore.put(through, key, b"1") and b"1234") for key in keys]  # type: ignore[misc]
    assert (outcomes, found) == (["same", "same", "error", "same"], [b"1"])
    proxy.plan.log.clear()
    proxy.plan.set(Fault("slow down", "PUT", times=2))
    obstore.put(bucket.through(proxy.port).store(), "key", b"1")
    assert [entry.status for entry in proxy.plan.log] == [503, 503, 200]


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
    obstore.put(through, "CURRENT", b"1")
    listing = obstore.list_with_delimiter(through)
    assert list(listing["common_prefixes"]) == ["files"]
    assert [one["path"] for one in listing["objects"]] == ["CURRENT"]


def _listed(store: S3Store) -> list[str]:
    return sorted(one["path"] for page in obstore.list(store, prefix="files") for one in page)


def _outcome(act: Callable[[], object]) -> str:
    """Return how a request of the bytes 1234 ended: "same", "other" bytes or "error"."""
    try:
        return "same" if act() == b"1234" else "other"
    except BaseError:
        return "error"
