"""Which addresses belong to this machine or a private network, in every form in which they may be written."""

import pytest

from router.addresses import is_private_name, is_public, literal_address

PRIVATE = [
    *("127.0.0.1", "0.0.0.0", "10.0.0.1", "100.64.0.1", "169.254.169.254", "192.168.0.1", "255.255.255.255"),
    *("2130706433", "0x7f.1", "017700000001", "127.1"),
    *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fec0::1", "ff02::1"),
    *("::127.0.0.1", "::ffff:127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2002:7f00:1::"),
]
PUBLIC = ["8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::808:808"]


@pytest.mark.parametrize("text", PRIVATE)
def test_an_address_of_this_machine_or_a_private_network_is_not_public(text: str) -> None:
    address = literal_address(text)
    assert address is not None
    assert not is_public(address)
    assert is_private_name(text)


@pytest.mark.parametrize("text", PUBLIC)
def test_an_address_of_the_internet_is_public(text: str) -> None:
    address = literal_address(text)
    assert address is not None
    assert is_public(address)
    assert not is_private_name(text)


def test_a_name_without_a_dot_and_names_of_private_networks_are_private() -> None:
    assert all(map(is_private_name, ["localhost", "localhost.", "db", "a.localhost", "nas.local", "x.internal"]))
    assert not is_private_name("api.example.com")
