"""HTTP/1.1 as h11 reads it, without the leniencies that a proxy in front may read otherwise (request smuggling)."""

import re
from typing import Any

import h11

from quartermaster.serving.http.settings import HttpSettings

_END_OF_HEAD = b"\r\n\r\n"
_BARE_LF = re.compile(rb"(?<!\r)\n")
_FOLDED = re.compile(rb"\r\n[ \t]")
_CONTINUE = b"100-continue"


class StrictConnection(h11.Connection):
    """A server's side of one connection. Raises RemoteProtocolError, with the status to answer, for a bad request.

    Refuses what RFC 9112 lets a server refuse, because others read it otherwise: a body with two lengths, lines that
    end in a bare LF, folded headers. Bounds the head of a request and its bytes on the wire: chunk extensions are not
    part of the body. `problem` is the last error: the status and the reason.
    """

    def __init__(self, settings: HttpSettings) -> None:
        super().__init__(h11.SERVER, settings.max_header_bytes)
        self.problem = (400, "the request is not valid HTTP/1.1")
        self._max_header_bytes = settings.max_header_bytes
        self._max_headers = settings.max_headers
        # A body in chunks of one byte takes six times its size. No client sends it so.
        self._max_wire_bytes = 2 * settings.max_request_bytes + settings.max_header_bytes
        self._wire_bytes = 0

    def receive_data(self, data: bytes) -> None:
        """Add bytes of the client to what `next_event` reads."""
        self._wire_bytes += len(data)
        super().receive_data(data)

    def start_next_cycle(self) -> None:
        """Make ready for the next request."""
        super().start_next_cycle()
        self._wire_bytes = len(self.trailing_data[0])

    def next_event(self) -> Any:
        """Return the next event. Raises RemoteProtocolError for a request that is refused."""
        try:
            if self.their_state is h11.IDLE:
                self._check_head(self.trailing_data[0])
            elif self._wire_bytes > self._max_wire_bytes:
                raise _refused(413, f"the request takes more than {self._max_wire_bytes:,} bytes on the wire")
            event = super().next_event()
            if isinstance(event, h11.Request):
                _check_request(event)
        except h11.RemoteProtocolError as error:
            self.problem = (error.error_status_hint, str(error))
            raise
        return event

    def _check_head(self, received: bytes) -> None:
        head, complete, _ = received.partition(_END_OF_HEAD)
        if len(head) > self._max_header_bytes:
            raise _refused(431, f"the headers are larger than {self._max_header_bytes:,} bytes")
        if head.count(b"\r\n") > self._max_headers:
            raise _refused(431, f"the request has more than {self._max_headers:,} headers")
        if _BARE_LF.search(head):
            raise _refused(400, "a line of the headers ends in a bare LF: end each with CR LF")
        if complete and _FOLDED.search(head):
            raise _refused(400, "a header goes on in the next line: write each in one line")


def _check_request(request: h11.Request) -> None:
    """Raise RemoteProtocolError for a head that others may read otherwise. h11 has refused two hosts or lengths."""
    headers = dict(request.headers)
    if b"transfer-encoding" in headers:
        if b"content-length" in headers:
            raise _refused(400, "the request has a Content-Length and a Transfer-Encoding: send one of them")
        if request.http_version < b"1.1":
            raise _refused(400, "the request is of HTTP/1.0, which has no Transfer-Encoding")
    if not request.target.startswith(b"/") and (request.method, request.target) != (b"OPTIONS", b"*"):
        raise _refused(400, "the request's target is not a path: send /path, and the name of the server as Host")
    if headers.get(b"expect", _CONTINUE).lower() != _CONTINUE:
        raise _refused(417, "the request has an Expect other than 100-continue")


def _refused(status: int, reason: str) -> h11.RemoteProtocolError:
    return h11.RemoteProtocolError(reason, error_status_hint=status)
