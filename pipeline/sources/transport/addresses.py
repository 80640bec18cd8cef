"""Decide where a source may lead: a public URL never leads to this machine or a private network.

A host that `catalog.toml` itself writes as a private address, such as 127.0.0.1 or `localhost`, is the operator's word.
"""

import ipaddress
import queue
import socket
import threading

from pipeline.errors import RunAborted, Unavailable

# They belong to no public server (RFC 6761, 6762, 8375 and ICANN's reservation of .internal).
_PRIVATE_SUFFIXES = (".localhost", ".local", ".internal", ".home.arpa")
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Reach:
    """The hosts and addresses that a source may lead to. Names are resolved once, and the checked address is used."""

    def __init__(self, subject: str, host: str, private_hosts: tuple[str, ...] = ()) -> None:
        """`subject` names the source in messages, `host` is that of its own URL."""
        self._subject = subject
        self._private = {name.lower() for name in private_hosts}
        if _is_private_name(host):
            self._private.add(host.lower())

    def check(self, host: str) -> None:
        """Raise RunAborted where a host is written as an address that the source may not lead to."""
        address = _literal(host)
        if address is not None and not is_public(address):
            self._refuse_unless_named(host, str(address))

    def resolve(self, host: str, port: int, seconds: float) -> list[str]:
        """Return the addresses of a host.

        Raises RunAborted where one of them is private and the source may not lead there; Unavailable where the name has
        none, or is not resolved in time.
        """
        addresses = _lookup(host, port, seconds)
        if not addresses:
            raise Unavailable(f"{self._subject} could not be reached: {host!r} has no address")
        for address in addresses:
            if not is_public(ipaddress.ip_address(address.partition("%")[0])):
                self._refuse_unless_named(host, address)
        return addresses

    def _refuse_unless_named(self, host: str, address: str) -> None:
        if host.lower() in self._private:
            return
        where = "" if host == address else f", which is {address}"
        raise RunAborted(
            f"{self._subject} leads to {host!r}{where}: an address of this machine or a private network. If that is "
            f'right, write private_hosts = ["{host}"] under its [[source]]'
        )


def is_public(address: _Address) -> bool:
    """Return whether an address is one of the public internet; IPv4 inside IPv6 counts as IPv4."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is None and (address in _NAT64 or int(address) >> 32 == 0):
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not address.is_multicast


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def _is_private_name(host: str) -> bool:
    """Return whether a host is a private address, or a name that no public server has."""
    address = _literal(host)
    if address is not None:
        return not is_public(address)
    name = host.lower().rstrip(".")
    return "." not in name or name.endswith(_PRIVATE_SUFFIXES)


def _literal(host: str) -> _Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))  # 2130706433, 0x7f.1, 127.1
    except (OSError, ValueError):
        return None


def _lookup(host: str, port: int, seconds: float) -> list[str]:
    """Return a host's addresses, none where it has none. A resolver that hangs is left behind."""
    found: queue.SimpleQueue[list[str]] = queue.SimpleQueue()

    def look() -> None:
        try:
            rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            rows = []
        found.put(list(dict.fromkeys(str(row[4][0]) for row in rows)))

    threading.Thread(target=look, daemon=True).start()
    try:
        return found.get(timeout=max(0.0, seconds))
    except queue.Empty:
        return []
