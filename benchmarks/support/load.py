"""Ask a server over HTTP from threads of this process, as fast as it answers or at a given rate."""

import json
import queue
import random
import socket
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

_PER_CONNECTION = 50  # requests, after which a client connects anew: the kernel may give it another worker
_TIMEOUT_S = 120.0
_READ = 262_144


class Client:
    """One connection after another to a server on loopback. It costs less CPU time than `http.client`."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None
        self._asked = 0

    def ask(self, request: bytes) -> None:
        """Send a request of `prepared` and read the answer whole. Raises OSError where it is not 200."""
        if self._socket is None or self._asked >= _PER_CONNECTION:
            self.close()
            self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=_TIMEOUT_S)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._asked = 0
        self._asked += 1
        self._socket.sendall(request)
        data = self._socket.recv(_READ)
        while b"\r\n\r\n" not in data:
            data += self._more()
        head, _, body = data.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise OSError(f"the server answered {head[:40]!r}")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        missing = length - len(body)
        while missing > 0:
            missing -= len(self._more())

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _more(self) -> bytes:
        assert self._socket is not None
        if not (data := self._socket.recv(_READ)):
            raise OSError("the server hung up in the middle of an answer")
        return data


def prepared(requests: Sequence[str], k: int = 5) -> list[bytes]:
    """Return requests for `/v1/route`, each as it is sent."""
    bodies = (json.dumps({"request": request, "k": k}).encode() for request in requests)
    head = "POST /v1/route HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
    return [head.format(len(body)).encode() + body for body in bodies]


def as_fast_as_answered(port: int, requests: Sequence[bytes], connections: int, seconds: float) -> int:
    """Ask over some connections, each the next request once it has its answer; return how many were answered."""
    end = time.perf_counter() + seconds
    answered = [0] * connections

    def ask(which: int) -> None:
        place = which * len(requests) // connections
        with Client(port) as client:
            while time.perf_counter() < end:
                client.ask(requests[(place + answered[which]) % len(requests)])
                answered[which] += 1

    with ThreadPoolExecutor(connections) as threads:
        list(threads.map(ask, range(connections)))  # which raises what a thread has raised
    return sum(answered)


def at_a_rate(
    port: int, requests: Sequence[bytes], rate: float, seconds: float, *, connections: int = 32, seed: int = 23
) -> list[float]:
    """Ask at drawn moments, `rate` a second in the mean; return the seconds from each moment to the answer's end.

    A request that finds all connections taken waits, and its wait counts: a slow server does not slow the asking down.
    """
    due: queue.SimpleQueue[tuple[float, bytes] | None] = queue.SimpleQueue()

    def answer(_: int) -> list[float]:
        taken = []
        with Client(port) as client:
            while (asked := due.get()) is not None:
                client.ask(asked[1])
                taken.append(time.perf_counter() - asked[0])
        return taken

    with ThreadPoolExecutor(connections) as threads:
        answering = threads.map(answer, range(connections))
        begun = time.perf_counter()
        for number, moment in enumerate(_moments(rate, seconds, seed)):
            time.sleep(max(0.0, begun + moment - time.perf_counter()))
            due.put((begun + moment, requests[number % len(requests)]))
        for _ in range(connections):
            due.put(None)
        return [seconds for taken in answering for seconds in taken]


def _moments(rate: float, seconds: float, seed: int) -> Iterator[float]:
    draw, moment = random.Random(seed), 0.0
    while (moment := moment + draw.expovariate(rate)) < seconds:
        yield moment
