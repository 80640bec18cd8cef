"""Decide where a source may lead: a public URL never leads to this machine or a private network.

A host that `catalog.toml` itself writes as a private address, such as 127.0.0.1 or `localhost`, is the operator's word.
"""

import ipaddress
import queue
import threading

from pipeline.errors import RunAborted, Unavailable
from router.addresses import is_private_name, is_public, literal_address, looked_up


class Reach:
    """The hosts and addresses that a source may lead to. Names are resolved once, and the checked address is used."""

    def __init__(self, subject: str, host: str, private_hosts: tuple[str, ...] = ()) -> None:
        """`subject` names the source in messages, `host` is that of its own URL."""
        self._subject = subject
        self._private = {name.lower() for name in private_hosts}
        if is_private_name(host):
            self._private.add(host.lower())

    def check(self, host: str) -> None:
        """Raise RunAborted where a host is written as an address that the source may not lead to."""
        address = literal_address(host)
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


def _lookup(host: str, port: int, seconds: float) -> list[str]:
    """Return a host's addresses, none where it has none. A resolver that hangs is left behind."""
    found: queue.SimpleQueue[list[str]] = queue.SimpleQueue()

    def look() -> None:
        found.put(looked_up(host, port))

    threading.Thread(target=look, daemon=True).start()
    try:
        return found.get(timeout=max(0.0, seconds))
    except queue.Empty:
        return []
