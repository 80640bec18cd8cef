"""An answer of the bucket that breaks off in the middle is asked for again, also where the object has changed."""

import socket
from threading import Thread

import obstore
import pytest

from router.snapshot.store.bucket.objects import Objects, ObjectUnavailable
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


def test_an_answer_that_never_ends_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[socket.socket] = []

    def answer_half(server: socket.socket) -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:  # closed
                return
            taken.append(connection)
            connection.recv(65_536)
            modified = "Last-Modified: Wed, 21 Oct 2026 07:28:00 GMT"
            connection.sendall(f'HTTP/1.1 200 OK\r\nContent-Length: 9\r\nETag: "a"\r\n{modified}\r\n\r\nhalf'.encode())

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=answer_half, args=(server,), daemon=True).start()
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "testing")
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.getsockname()[1]}")
        with pytest.raises(ObjectUnavailable):
            Objects("s3://bucket/catalogs/demo", patience_s=0.1, request_s=0.5).read("CURRENT", 100)
    assert len(taken) == 1
    taken[0].close()
