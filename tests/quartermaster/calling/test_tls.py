"""HTTPS: the certificate must be the host's own, also where the address was looked up beforehand."""

import asyncio
import datetime as dt
import ssl
from pathlib import Path

import pytest

from quartermaster.calling import ApiCalls, CallFailed, CallResult, CallSettings, ProviderCalls
from quartermaster.calling import sending as sending_module
from router.operation import Operation
from tests.support.api_server import ApiServer, Reply, api_server
from tests.support.factories import make_record

pytest.importorskip("cryptography")
NAME = "api.example.com"


@pytest.fixture
def contexts(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The TLS settings of a server with a certificate for NAME, and of a client that trusts it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding, private = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (tmp_path / "server.pem").write_bytes(
        key.private_bytes(encoding, private, serialization.NoEncryption()) + certificate.public_bytes(encoding)
    )
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(tmp_path / "server.pem")
    trusting = ssl.create_default_context(cadata=certificate.public_bytes(encoding).decode())
    return serving, trusting


def call(api: ApiServer, host: str, monkeypatch: pytest.MonkeyPatch, client: ssl.SSLContext) -> CallResult:
    """Call an operation at a host whose only address is the server's, which counts as public here."""
    monkeypatch.setattr(sending_module, "_tls", lambda: client)
    monkeypatch.setattr(sending_module, "looked_up", lambda *_: ["127.0.0.1"])
    monkeypatch.setattr(sending_module, "is_public", lambda _: True)
    operation = Operation("GET", "/items", servers=(f"https://{host}:{api.url.rpartition(':')[2]}",))
    calls = ApiCalls(CallSettings({"*": ProviderCalls(document_server=True)}))
    return asyncio.run(calls.call(make_record(operation=operation), {}))


def test_the_certificate_is_checked_against_the_name_and_not_the_address(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    serving, trusting = contexts
    with api_server(lambda _: Reply.of("over TLS"), serving) as api:
        assert call(api, NAME, monkeypatch, trusting).value == "over TLS"
        assert api.last.headers["host"].startswith(NAME)
        with pytest.raises(CallFailed, match="nothing was sent"):
            call(api, "other.example.com", monkeypatch, trusting)
        with pytest.raises(CallFailed, match="nothing was sent"):  # nobody whom all trust has signed it
            call(api, NAME, monkeypatch, ssl.create_default_context())
    assert len(api.received) == 1
