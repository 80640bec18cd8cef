"""What a client may hold of a server: connections, headers, bodies, unread answers; and which connection goes."""

import json
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import Mock

import pytest
import uvicorn
from msgspec.structs import replace
from starlette.types import Receive, Scope, Send

from quartermaster.serving.http import HttpSettings, listen
from quartermaster.serving.http.connections import Connections
from quartermaster.serving.http.request_guard import RequestGuard
from quartermaster.serving.http.server import server_config

BOUNDS = HttpSettings(
    port=0,
    requests_per_minute=None,
    header_timeout_s=60,
    body_timeout_s=60,
    keep_alive_s=60,
    answer_timeout_s=60,
    max_request_bytes=4_096,
    max_connections=30,
    max_connections_per_client=20,
)
HASTY = replace(BOUNDS, header_timeout_s=0.4, body_timeout_s=0.2, keep_alive_s=0.2, answer_timeout_s=0.2)
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\n"


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """/ answers with the length of the body, /large with 8 MB; /hold ends its answer when the client leaves."""
    if scope["type"] == "lifespan":
        for _ in range(2):
            await send({"type": f"{(await receive())['type']}.complete"})
        return
    body = (await receive())["body"]
    said = {"/healthz": b"ok", "/large": b"x" * (8 << 20)}.get(scope["path"], str(len(body)).encode())
    headers = [] if scope["path"] == "/hold" else [(b"content-length", str(len(said)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["path"] == "/hold":
        await receive()
    else:
        await send({"type": "http.response.body", "body": said})


@contextmanager
def running(bounds: HttpSettings) -> Iterator[tuple[int, uvicorn.Server]]:
    with listen(bounds) as listening:
        server = uvicorn.Server(server_config(RequestGuard(app, bounds), bounds))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield int(listening.getsockname()[1]), server
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Where a server has patience with what shall be answered."""
    with running(BOUNDS) as (port, _):
        yield port


@pytest.fixture(scope="module")
def hasty() -> Iterator[int]:
    """Where one has none with what shall not."""
    with running(HASTY) as (port, _):
        yield port


@pytest.fixture
def connections(port: int) -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def connected(port: int, sent: bytes = b"", receive_buffer: int | None = None) -> socket.socket:
    client = socket.socket()
    if receive_buffer:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    client.settimeout(40)
    client.connect(("127.0.0.1", port))
    client.sendall(sent)
    return client


def answer(client: socket.socket) -> bytes:
    """All that a server says until it closes the connection, however it does that."""
    said = b""
    try:
        while part := client.recv(65_536):
            said += part
    except ConnectionError:
        pass
    return said


def read_until(client: socket.socket, end: bytes) -> bytes:
    """What a server says up to these bytes."""
    said = b""
    while not said.endswith(end):
        part = client.recv(65_536)
        assert part, said
        said += part
    return said


def status(port: int, request: bytes) -> int:
    """The status of the first answer to a request, after which the client sends no more."""
    with connected(port, request) as client:
        return int(answer(client).split()[1])


def failure(said: bytes) -> dict[str, str]:
    error: dict[str, str] = json.loads(said.partition(b"\r\n\r\n")[2])["error"]
    return error


def test_headers_that_do_not_end_are_answered_with_408_and_none_with_nothing(hasty: int) -> None:
    with connected(hasty) as silent, connected(hasty, b"GET /healthz HTTP/1.1\r\nHost: local") as client:
        assert answer(silent) == b""
        said = answer(client)
    assert said.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert failure(said) == {"type": "too_slow", "message": "the headers did not come within 0.4 s"}


def test_headers_that_drip_have_no_more_time(hasty: int) -> None:
    with connected(hasty, b"GET /healthz HTTP/1.1\r\n") as client:
        client.settimeout(0.05)
        begun, said = time.monotonic(), b""
        while not said and time.monotonic() - begun < 40:
            client.sendall(b"X: y\r\n")
            try:
                said = client.recv(65_536)
            except TimeoutError:
                continue
    assert said.startswith(b"HTTP/1.1 408")


def test_a_body_that_drips_after_its_answer_is_not_waited_for(hasty: int) -> None:
    with connected(hasty, b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\n") as client:
        begun = time.monotonic()
        with pytest.raises(ConnectionError):
            while time.monotonic() - begun < 40:
                client.sendall(b"x")
                time.sleep(0.05)


def test_a_connection_is_kept_for_the_next_request_and_not_for_ever(port: int, hasty: int) -> None:
    with connected(port) as client:
        for _ in range(5):
            client.sendall(HEALTH)
            assert read_until(client, b"ok").count(b"HTTP/1.1 200") == 1
    with connected(hasty, HEALTH) as client:
        assert answer(client)  # until it is closed after keep_alive_s


def test_a_server_that_ends_answers_a_request_that_is_on_its_way_and_closes_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("quartermaster.serving.http.connections._LEAVES_WITHIN_S", 40.0)
    with running(BOUNDS) as (port, server), connected(port, HEALTH) as client:
        read_until(client, b"ok")
        server.should_exit = True
        with pytest.raises(ConnectionError):
            while True:  # until it takes no new connection
                socket.create_connection(("127.0.0.1", port)).close()
                time.sleep(0.02)
        client.sendall(HEALTH)
        said = answer(client)
    assert said.startswith(b"HTTP/1.1 200 OK") and b"connection: close" in said.lower()


def test_pipelined_requests_are_answered_in_order(port: int) -> None:
    with connected(port, POST + b"Content-Length: 2\r\n\r\n{}" + HEALTH) as client:
        said = read_until(client, b"ok")
    assert said.count(b"HTTP/1.1 200 OK") == 2
    assert said.index(b"\r\n\r\n2") < said.index(b"\r\n\r\nok")


def post(headers: bytes, body: bytes = b"") -> bytes:
    return POST + headers + b"\r\n\r\n" + body


def get(headers: bytes) -> bytes:
    return b"GET /healthz HTTP/1.1\r\n" + headers + b"\r\n\r\n"


CHUNKED, HOST = b"Transfer-Encoding: chunked", b"Host: localhost"
REFUSED = {
    "two lengths of one body": (400, post(b"Content-Length: 4\r\n" + CHUNKED, b"0\r\n\r\n")),
    "two Content-Lengths": (400, post(b"Content-Length: 2\r\nContent-Length: 3", b"{} ")),
    "a list of Content-Lengths": (400, post(b"Content-Length: 2, 3", b"{} ")),
    "a signed Content-Length": (400, post(b"Content-Length: +2", b"{}")),
    "a space before the colon": (400, post(b"Content-Length : 2", b"{}")),
    "two hosts": (400, get(HOST + b"\r\n" + HOST)),
    "another coding": (501, post(b"Transfer-Encoding: gzip, chunked", b"0\r\n\r\n")),
    "a coding in HTTP/1.0": (400, post(CHUNKED, b"0\r\n\r\n").replace(b"HTTP/1.1", b"HTTP/1.0")),
    "a folded header": (400, get(HOST + b"\r\nX: a\r\n b")),
    "lines that end in LF": (400, get(HOST).replace(b"\r\n", b"\n")),
    "one line that ends in LF": (400, get(b"X: a\n" + HOST)),
    "large headers": (431, get(HOST + b"\r\nX: " + b"a" * 200_000)),
    "many headers": (431, get(HOST + b"\r\nX: a" * 200)),
    "another server's target": (400, get(HOST).replace(b"/healthz", b"http://other/healthz")),
    "another expectation": (417, post(b"Expect: 200-maybe\r\nContent-Length: 2", b"{}")),
    "a chunk that is no chunk": (400, post(CHUNKED, b"zz\r\n")),
    "long extensions of chunks": (413, post(CHUNKED, (b"1;" + b"a" * 2_000 + b"\r\n \r\n") * 50 + b"0\r\n\r\n")),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_proxy_may_read_otherwise_is_refused_and_the_connection_ends(case: str, port: int) -> None:
    expected, request = REFUSED[case]
    with connected(port, request + HEALTH) as client:
        said = answer(client)
    assert said.startswith(b"HTTP/1.1 %d " % expected)
    assert said.count(b"HTTP/1.1") == 1  # what follows is no request
    assert failure(said)["message"]


def test_requests_within_the_bounds_are_answered(port: int) -> None:
    close = b"Connection: close\r\n"
    for request in (
        post(close + b"Content-Length: 2\r\nContent-Length: 2", b"{}"),
        post(close + CHUNKED, b"2;a=b\r\n{}\r\n0\r\n\r\n"),
        post(close + b"Content-Length: 4096", b"\n" * 4_096),
    ):
        assert status(port, request) == 200


def test_headers_may_come_byte_by_byte(port: int) -> None:
    with connected(port) as client:
        for byte in post(b"Content-Length: 3", b"{\n}"):
            client.sendall(bytes((byte,)))
        read_until(client, b"\r\n\r\n3")


def test_a_client_that_does_not_read_its_answer_is_left(hasty: int) -> None:
    with connected(hasty, HEALTH.replace(b"healthz", b"large"), receive_buffer=65_536) as client:
        client.recv(1, socket.MSG_PEEK)  # the answer has begun
        time.sleep(2 * HASTY.answer_timeout_s)  # a client that sleeps longer loses the rest, never the proof
        assert len(answer(client)) < 8 << 20


def test_unfinished_requests_keep_no_probe_out(connections: ExitStack, port: int) -> None:
    for _ in range(BOUNDS.max_connections + 5):
        connections.enter_context(connected(port, b"GET /healthz HTTP/1.1\r\nX: "))
    assert status(port, get(HOST + b"\r\nConnection: close")) == 200


def test_a_client_whose_connections_are_all_being_answered_gets_no_more(connections: ExitStack, port: int) -> None:
    hold = post(b"Content-Length: 0").replace(b"POST /", b"POST /hold")
    for _ in range(BOUNDS.max_connections_per_client):
        read_until(connections.enter_context(connected(port, hold)), b"\r\n\r\n")
    refused = connections.enter_context(connected(port))
    said = answer(refused)
    assert said.startswith(b"HTTP/1.1 503")
    assert failure(said)["message"] == "your address has 20 requests under way: wait for an answer"


def client(network: str, unsent: int = 0) -> Mock:
    """A connection of a client; "!" after its network says that it is being answered."""
    transport = Mock(**{"get_write_buffer_size.return_value": unsent})
    return Mock(network=network.strip("!"), waits="!" not in network, transport=transport)


def table(clients: list[Mock], most: int = 4, per_client: int = 4) -> Connections:
    bounds = {"max_connections": most, "max_connections_per_client": per_client, "max_unsent_bytes": 100_000}
    connections = Connections(HttpSettings(**bounds))  # type: ignore[arg-type]
    assert [connections.add(one) for one in clients] == [None] * len(clients)
    return connections


def aborted(clients: list[Mock]) -> list[int]:
    return [place for place, one in enumerate(clients) if one.transport.abort.called]


@pytest.mark.parametrize(
    ("networks", "newcomer", "per_client", "closed", "refused"),
    [
        ("a b b b", "c", 4, [1], None),  # the client with the most connections loses its oldest
        ("a b! b", "b", 2, [2], None),  # a client at its own limit loses its own
        ("a! b! c! d!", "e", 4, [], "the server has 4 requests under way: try again"),
        ("a!", "a", 1, [], "your address has 1 requests under way: wait for an answer"),
    ],
)
def test_at_a_limit_a_connection_that_waits_makes_room(
    networks: str, newcomer: str, per_client: int, closed: list[int], refused: str | None
) -> None:
    clients = [client(network) for network in networks.split()]
    connections = table(clients, per_client=per_client)
    assert connections.add(client(newcomer)) == refused
    assert aborted(clients) == closed
    assert len(connections) == len(clients) + (refused is None) - len(closed)


def test_a_connection_that_is_closed_makes_room() -> None:
    first = client("a!")
    connections = table([first], per_client=1)
    connections.discard(first)
    connections.discard(first)
    assert connections.add(client("a!")) is None


def test_the_largest_unread_answers_go_first() -> None:
    clients = [client("a", unsent=size) for size in (9, 80_000, 90_000)]
    table(clients).limit_unsent()
    assert aborted(clients) == [2]


def test_a_server_with_few_descriptors_keeps_half_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (8, 8))
    clients = [client("a") for _ in range(5)]
    assert len(table(clients, most=512, per_client=512)) == 4
    assert aborted(clients) == [0]
