"""HTTPS: the certificate must be the host's own, also where the address was looked up beforehand."""

import asyncio
import ssl
from pathlib import Path

import pytest

from quartermaster.calling import ApiCalls, CallFailed, CallResult, CallSettings, ProviderCalls
from quartermaster.calling import sending as sending_module
from router.operation import Operation
from tests.support.api_server import ApiServer, Reply, api_server
from tests.support.certificates import write_certificate
from tests.support.factories import make_record

NAME = "api.example.com"


@pytest.fixture
def contexts(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The TLS settings of a server with a certificate for NAME, and of a client that trusts it."""
    certificate, key = tmp_path / "certificate", tmp_path / "key"
    write_certificate(NAME, certificate, key)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate, key)
    return serving, ssl.create_default_context(cafile=certificate)


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
