"""A process of slow and rude clients: `python -m simulations.soak.slow_client PORT BODIES.json JOURNAL`.

It ends when its standard input does. Each way of `WAYS` has a thread, which writes one row a connection into the
journal: `way`, `port`, `at`, `seconds`, and `status`, `snapshots` and `digest` of a whole answer, or `error`.

    drips       the request, a few bytes at a time, over some 4 s
    stalls      half of the headers, then nothing: the server must end the connection
    sips        reads a large answer, a few KB at a time, through a small buffer
    leaves      hangs up by a reset in the middle of a large answer
    hangs up    sends a request, and resets the connection at once
    breaks off  closes the connection in the middle of a request
"""

import argparse
import json
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any

from simulations.soak.answers import Known, read_answer
from simulations.soak.client import read_bodies, until_input_ends

_PIECES = 40  # that a request drips in
_DRIP_S = 0.1  # between two of them
_SIP = 8_192  # bytes that are read at a time
_SIP_S = 0.05
_TIMEOUT_S = 120.0
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER on, for 0 s: closing the socket sends a reset
Row = dict[str, Any]


def _request(known: Known) -> bytes:
    body = known.body.encode()
    head = (
        f"POST {known.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def _answer(connection: socket.socket, pause: float = 0.0) -> Row:
    response = HTTPResponse(connection)
    try:
        response.begin()
        content = b""
        while piece := response.read(_SIP):
            content += piece
            time.sleep(pause)
    finally:
        response.close()
    row: Row = {"status": response.status}
    if response.status == 200:
        answer = read_answer(content)
        row |= {"snapshots": answer.snapshots, "digest": answer.digest}
    return row


def _drips(connection: socket.socket, known: Known) -> Row:
    data = _request(known)
    size = -(-len(data) // _PIECES)
    for start in range(0, len(data), size):
        connection.sendall(data[start : start + size])
        time.sleep(_DRIP_S)
    return _answer(connection)


def _stalls(connection: socket.socket, known: Known) -> Row:
    connection.sendall(_request(known)[:60])
    while connection.recv(_SIP):  # an answer that says why, then the end
        pass
    return {}


def _sips(connection: socket.socket, known: Known) -> Row:
    connection.sendall(_request(known))
    return _answer(connection, _SIP_S)


def _leaves(connection: socket.socket, known: Known) -> Row:
    connection.sendall(_request(known))
    connection.recv(_SIP)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    return {}


def _hangs_up(connection: socket.socket, known: Known) -> Row:
    connection.sendall(_request(known))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    return {}


def _breaks_off(connection: socket.socket, known: Known) -> Row:
    data = _request(known)
    connection.sendall(data[: len(data) // 2])
    return {}


WAYS: Mapping[str, Callable[[socket.socket, Known], Row]] = {
    "drips": _drips,
    "stalls": _stalls,
    "sips": _sips,
    "leaves": _leaves,
    "hangs up": _hangs_up,
    "breaks off": _breaks_off,
}
_LARGE = ("sips", "leaves")


def once(way: str, port: int, known: Known) -> Row:
    """Be one slow client; return what became of it."""
    begun = time.monotonic()
    row: Row = {"way": way, "port": 0}
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if way in _LARGE:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SIP)  # before connecting, or it has no effect
        connection.settimeout(_TIMEOUT_S)
        connection.connect(("127.0.0.1", port))
        row["port"] = connection.getsockname()[1]
        row |= WAYS[way](connection, known)
    except (OSError, HTTPException) as error:
        row["error"] = f"{type(error).__name__}: {error}"
    finally:
        connection.close()
    row["at"] = time.monotonic()
    row["seconds"] = row["at"] - begun
    return row


def run(port: int, bodies: Sequence[Known], journal: Path, pause: float, seed: int, ended: threading.Event) -> None:
    """Let each way connect, one connection after another and `pause` seconds between them, until `ended`."""
    writing = threading.Lock()

    def loop(way: str, number: int) -> None:
        draw = random.Random(seed * len(WAYS) + number)
        longest = 2 * pause * (3 if way in _LARGE else 1)  # a large answer takes half a second of CPU time
        while not ended.wait(draw.uniform(0, longest)):
            body = len(bodies) - 1 if way in _LARGE else draw.randrange(len(bodies) - 1)
            row = json.dumps({"body": body, **once(way, port, bodies[body])})
            with writing:
                lines.write(row + "\n")

    with journal.open("w", encoding="utf-8", buffering=1) as lines:
        threads = [threading.Thread(target=loop, args=(way, number)) for number, way in enumerate(WAYS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def main() -> None:
    """Be slow until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("bodies", type=Path)
    parser.add_argument("journal", type=Path)
    parser.add_argument("--pause", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    run(given.port, read_bodies(given.bodies), given.journal, given.pause, given.seed, until_input_ends())


if __name__ == "__main__":
    main()
