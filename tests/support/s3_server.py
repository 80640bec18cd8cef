"""The process of an S3 server on loopback: moto's, with three things that a real one does and moto's does not.

It answers one request at a time, so that a conditional write is atomic: moto compares, then writes, with no lock. It
refuses a body whose checksum differs, and one that ends early. It ends when its standard input does, as it does when
the process that started it dies.
"""

import hashlib
import io
import os
import sys
from base64 import b64encode
from collections.abc import Iterable
from threading import Lock, Thread
from typing import TYPE_CHECKING

from moto.moto_server.werkzeug_app import MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server
from werkzeug.wrappers import Response

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_ERROR = '<?xml version="1.0" encoding="UTF-8"?><Error><Code>{0}</Code><Message>{0}</Message></Error>'


class _OneByOne:
    """Wraps a WSGI application: reads the whole body, checks it, and answers one request after another."""

    def __init__(self, application: "WSGIApplication") -> None:
        self._application = application
        self._lock = Lock()

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        if problem := _problem(environ, body):
            return Response(_ERROR.format(problem), 400, mimetype="application/xml")(environ, start_response)
        environ["wsgi.input"] = io.BytesIO(body)
        with self._lock:
            return [b"".join(self._application(environ, start_response))]


def _problem(environ: "WSGIEnvironment", body: bytes) -> str:
    """Return the code of the error that S3 answers to a damaged body; empty for a good one."""
    if len(body) < int(environ.get("CONTENT_LENGTH") or 0):
        return "IncompleteBody"
    digest = hashlib.sha256(body)
    signed = environ.get("HTTP_X_AMZ_CONTENT_SHA256", "")
    if len(signed) == 64 and signed != digest.hexdigest():
        return "XAmzContentSHA256Mismatch"
    told = environ.get("HTTP_X_AMZ_CHECKSUM_SHA256")
    if told and told != b64encode(digest.digest()).decode():
        return "BadDigest"
    return ""


class _Handler(MotoRequestHandler):
    # Connections are kept, as a real server keeps them.
    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *args: object) -> None:
        """Log nothing."""


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


def _main() -> None:
    server = make_server("127.0.0.1", 0, _OneByOne(create_backend_app("s3")), threaded=True, request_handler=_Handler)
    Thread(target=_end_with_parent, daemon=True).start()
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    _main()
