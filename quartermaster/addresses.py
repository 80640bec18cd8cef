"""Tell addresses of the public internet from those of this machine and private networks."""

import ipaddress
import socket

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# They belong to no public server (RFC 6761, 6762, 8375 and ICANN's reservation of .internal).
_PRIVATE_SUFFIXES = (".localhost", ".local", ".internal", ".home.arpa")
# IPv4 inside IPv6 for translators: NAT64 (RFC 6052) and SIIT (RFC 2765).
_TRANSLATED = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "::ffff:0:0:0/96")))
# Private ranges that Python, or a version of it, counts as global: Azure's host (168.63.129.16) and the protocol
# assignments, where Oracle's is; NAT64 within a network (RFC 8215), site-local, SRv6 and documentation addresses.
_LOCAL = tuple(
    map(
        ipaddress.ip_network,
        ("168.63.129.16/32", "192.0.0.0/24", "64:ff9b:1::/48", "fec0::/10", "5f00::/16", "3fff::/20"),
    )
)


def is_public(address: Address) -> bool:
    """Return whether an address is one of the public internet; IPv4 inside IPv6 counts as IPv4."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is None and (any(address in network for network in _TRANSLATED) or int(address) >> 32 == 0):
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not address.is_multicast and not any(address in network for network in _LOCAL)


def is_private_name(host: str) -> bool:
    """Return whether a host is a private address, or a name that no public server has."""
    address = literal_address(host)
    if address is not None:
        return not is_public(address)
    name = host.lower().rstrip(".")
    return "." not in name or name.endswith(_PRIVATE_SUFFIXES)


def literal_address(host: str) -> Address | None:
    """Return the address that a host is written as; None for a name."""
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))  # 2130706433, 0x7f.1, 127.1
    except (OSError, ValueError):
        return None


def looked_up(host: str, port: int) -> list[str]:
    """Return a host's addresses, none where it has none. It may block for as long as the resolver does."""
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(row[4][0]) for row in rows))


def is_this_machine(host: str) -> bool:
    """Return whether a host is `localhost` or a loopback address, written as such. No name is looked up."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return False
