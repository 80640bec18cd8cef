"""An answer of the bucket that breaks off in the middle is asked for again, also where the object has changed."""

import obstore
import pytest

from router.snapshot.store.bucket.objects import Objects
from tests.support.faults import Fault
from tests.support.faulty_proxy import faulty_proxy
from tests.support.object_storage import Bucket


def test_an_object_that_changes_while_it_is_read_is_read_anew(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    store = bucket.store("catalogs/demo")
    obstore.put(store, "CURRENT", b"before" * 10)
    with faulty_proxy(bucket.port) as proxy:
        for name, value in bucket.through(proxy.port).environment.items():
            monkeypatch.setenv(name, value)
        overwrite = Fault("cut answer", "GET", times=1, act=lambda: obstore.put(store, "CURRENT", b"after" * 10))
        proxy.plan.set(overwrite)
        assert Objects(f"{bucket.url}/catalogs/demo").read("CURRENT", 100)[0] == b"after" * 10
        assert proxy.plan.counts == {"cut answer": 1}
