"""Which addresses belong to this machine or a private network, in every form in which they may be written."""

import pytest

from quartermaster.addresses import is_private_name, is_public, literal_address

PRIVATE = [
    *("127.0.0.1", "0.0.0.0", "10.0.0.1", "100.64.0.1", "169.254.169.254", "192.168.0.1", "255.255.255.255"),
    *("168.63.129.16", "192.0.0.192", "100.100.100.200", "fd00:ec2::254", "2002:a83f:8110::"),  # of clouds' metadata
    *("2130706433", "0x7f.1", "017700000001", "127.1"),
    *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fec0::1", "ff02::1"),
    *("::127.0.0.1", "::ffff:127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2002:7f00:1::"),
]
PUBLIC = ["8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::808:808"]


@pytest.mark.parametrize(("text", "public"), [*((t, False) for t in PRIVATE), *((t, True) for t in PUBLIC)])
def test_an_address_is_one_of_the_internet_or_not_however_it_is_written(text: str, public: bool) -> None:
    address = literal_address(text)
    assert address is not None and is_public(address) is public
    assert is_private_name(text) is not public


def test_a_name_without_a_dot_and_names_of_private_networks_are_private() -> None:
    assert all(map(is_private_name, ["localhost", "localhost.", "db", "a.localhost", "nas.local", "x.internal"]))
    assert not is_private_name("api.example.com")
