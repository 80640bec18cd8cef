"""Connections of sources: TLS names the host though an address is connected to, and a proxy is asked for all."""

import asyncio
import datetime
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from pipeline.errors import Unavailable
from pipeline.sources.transport import http
from tests.pipeline.sources.reading import read_one, stop_one
from tests.pipeline.sources.web import Web

HOST = "tools.example.com"


def _write_certificate(certificate: Path, key_file: Path) -> None:
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name, day = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)]), datetime.timedelta(days=1)
    made = x509.CertificateBuilder(name, name, key.public_key(), 7, now - day, now + day)
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    certificate.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    how = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    key_file.write_bytes(key.private_bytes(serialization.Encoding.PEM, *how))


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[int]:
    """The port of a server that says which host it is asked for, by TLS, with a certificate of HOST."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f'{{"name": "{self.headers["host"].partition(":")[0]}"}}'.encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    _write_certificate(tmp_path / "certificate", tmp_path / "key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_the_certificate_is_that_of_the_host_and_the_next_address_is_tried(
    secure: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "looked_up", lambda *_: ["127.0.0.2", "127.0.0.1"])  # nothing listens at the first
    monkeypatch.setattr(http, "is_public", lambda _: True)
    told = "has a certificate that cannot be trusted"
    assert told in str(stop_one(url=f"https://{HOST}:{secure}/x", format="function"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate"))
    (tool,) = read_one(url=f"https://{HOST}:{secure}/x", format="function").tools
    assert tool.name == HOST
    assert told in str(stop_one(url=f"https://other.example.com:{secure}/x", format="function"))


def test_a_source_is_read_where_an_event_loop_runs_already_as_in_a_notebook(web: Web) -> None:
    async def cell() -> int:
        return len(read_one(url=web.page('{"name": "a"}'), format="function").tools)

    assert asyncio.run(cell()) == 1


def test_a_proxy_of_the_environment_is_asked_and_looks_names_up_itself(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "looked_up", lambda *_: pytest.fail("the proxy looks names up"))
    monkeypatch.setenv("http_proxy", web.root)
    web.page('{"name": "a"}', path=f"http://{HOST}/tools.json")
    assert len(read_one(url=f"http://{HOST}/tools.json", format="function").tools) == 1
    assert web.asked[-1][1]["host"] == HOST
    monkeypatch.setenv("no_proxy", HOST)
    monkeypatch.setattr(http, "looked_up", lambda *_: [])
    assert isinstance(stop_one(url=f"http://{HOST}/tools.json", format="function"), Unavailable)
