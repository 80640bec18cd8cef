"""Where a source may lead: a public URL leads to no private address, by redirect or by DNS."""

import asyncio
import socket
import threading
from typing import Any

import pytest

from pipeline.errors import RunAborted, Unavailable
from pipeline.sources.transport.http import Reach
from tests.pipeline.sources.reading import stop_one


def _resolved(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Let every name have these addresses: there is no network in a test."""

    def rows(*_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", rows)


@pytest.mark.parametrize(
    "host",
    "127.0.0.1 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 [::1] 2130706433 0x7f.1".split(),
)
def test_a_public_source_leads_to_no_written_private_address(host: str) -> None:
    with pytest.raises(RunAborted, match=r"an address of this machine or a private network. If that is right, write"):
        Reach("the url 'x'", "tools.example.com").check(host)
    Reach("the url 'x'", host).check(host)  # the operator's own word
    Reach("the url 'x'", "tools.example.com", (host,)).check(host)


@pytest.mark.parametrize("addresses", [("169.254.169.254",), ("93.184.216.34", "10.0.0.7")])
@pytest.mark.parametrize("kind", ["openapi", None])
def test_a_public_name_with_a_private_address_is_refused(
    monkeypatch: pytest.MonkeyPatch, addresses: tuple[str, ...], kind: str | None
) -> None:
    _resolved(monkeypatch, *addresses)
    stopped = stop_one(url="http://tools.example.com/mcp", format=kind, timeout_s=20)
    assert f"leads to 'tools.example.com', which is {addresses[-1]}: an address of this machine" in str(stopped)
    assert 'write private_hosts = ["tools.example.com"] under its [[source]]' in str(stopped)
    assert not isinstance(stopped, Unavailable)


@pytest.mark.parametrize("host", ["localhost", "mcp-server", "tools.internal", "printer.local", "127.0.0.1"])
def test_a_host_that_can_only_be_private_is_the_operators_word(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    _resolved(monkeypatch, "127.0.0.1")
    assert asyncio.run(Reach("the url 'x'", host).resolve(host, 80)) == ["127.0.0.1"]
    with pytest.raises(RunAborted):
        asyncio.run(Reach("the url 'x'", "tools.example.com").resolve(host, 80))


def test_a_name_that_is_not_resolved_in_time_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    hangs = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: hangs.wait(10) and [])
    try:
        stopped = stop_one(url="http://tools.example.com/api", format="openapi", timeout_s=0.05)
        assert isinstance(stopped, Unavailable) and "took more than the 0.05 s" in str(stopped)
    finally:
        hangs.set()
