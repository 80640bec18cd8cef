"""HTTP answers, and requests to a server on loopback that a proxy passes on: whole, or cut in the middle."""

import http.client
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass

_ERROR = '<?xml version="1.0" encoding="UTF-8"?><Error><Code>{0}</Code><Message>Please try again.</Message></Error>'


@dataclass(frozen=True)
class Answer:
    """An HTTP answer: status, headers and body."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def flipped(self) -> "Answer":
        """Return the answer with one bit of its body turned."""
        return Answer(self.status, self.headers, flipped(self.body))


def error(status: int, code: str, retry_after: float = 0) -> Answer:
    """Return an error as S3 answers it. `retry_after` is in seconds; 0 for no such header."""
    headers = [("content-type", "application/xml")]
    if retry_after:
        headers.append(("retry-after", f"{retry_after:.0f}"))
    return Answer(status, headers, _ERROR.format(code).encode())


def flipped(body: bytes) -> bytes:
    """Return the body with one bit of its middle byte turned."""
    if not body:
        return body
    middle = len(body) // 2
    return body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :]


@dataclass(frozen=True)
class Upstream:
    """The server behind a proxy. `port` is where it listens on loopback."""

    port: int

    def ask(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Answer:
        """Send a request and return the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.getheaders(), answer.read())
        finally:
            connection.close()

    def send_half(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> None:
        """Send half of a body and hang up."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            connection.putheader(name, value)
        connection.endheaders(body[: len(body) // 2])
        connection.close()


def reset(connection: socket.socket) -> None:
    """Break a connection, as a server that died does."""
    with suppress(OSError):  # the client was faster
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)
