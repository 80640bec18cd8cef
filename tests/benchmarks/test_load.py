"""Load over HTTP: every answer is read whole, and a request that waits counts its wait."""

import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

import pytest

from benchmarks.support.load import Client, as_fast_as_answered, at_a_rate, prepared

BUSY_S = 0.02


class _Slow(BaseHTTPRequestHandler):
    """Answers one request at a time, after BUSY_S; a request of "bad" gets 503."""

    protocol_version = "HTTP/1.1"
    turn = Lock()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        with self.turn:
            time.sleep(BUSY_S)
        self.send_response(503 if b"bad" in body else 200)
        self.send_header("content-length", "300000")
        self.end_headers()
        self.wfile.write(b"x" * 300_000)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing: a client that gets 503 hangs up."""


@pytest.fixture
def port() -> Iterator[int]:
    server = _Server(("127.0.0.1", 0), _Slow)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def test_as_many_are_answered_as_the_server_can(port: int) -> None:
    answered = as_fast_as_answered(port, prepared(["one", "two"]), connections=2, seconds=0.3)
    assert 2 <= answered <= 0.3 / BUSY_S + 2


def test_a_server_that_is_too_slow_shows_in_the_latency_of_the_drawn_moments(port: int) -> None:
    taken = at_a_rate(port, prepared(["one"]), rate=4 / BUSY_S, seconds=0.2, connections=4)
    assert len(taken) > 10
    assert min(taken) >= BUSY_S
    assert max(taken) > 5 * BUSY_S  # the last ones waited for all before them


def test_an_answer_other_than_200_is_an_error(port: int) -> None:
    with Client(port) as client, pytest.raises(OSError, match="503"):
        client.ask(prepared(["bad"])[0])
    with pytest.raises(OSError, match="503"):
        as_fast_as_answered(port, prepared(["bad"]), connections=1, seconds=0.1)
