"""What clients are known and limited by: bearer tokens, kept as their SHA-256; and the rate of each client."""

import hashlib
import hmac
import ipaddress
import math
import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping

from router.errors import SettingsInvalid

MIN_TOKEN = 16  # characters
# The characters of a bearer token (RFC 6750, 2.1).
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
# Clients remembered. The one that asked longest ago is forgotten first: its limit has recovered most.
_MAX_CLIENTS = 100_000


def new_token() -> str:
    """Return a random token of 43 characters (256 bits)."""
    return secrets.token_urlsafe(32)


def token_digest(token: str) -> str:
    """Return the SHA-256 of a token, in hexadecimal.

    A hash without salt is enough for a random token, and for nothing that a person made up.
    """
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def check_token(name: str, token: str) -> None:
    """Raise SettingsInvalid for a token that is too short, or has a character that none may have."""
    # The message omits the token itself: errors are printed and logged.
    if not (len(token) >= MIN_TOKEN and _TOKEN.fullmatch(token)):
        raise SettingsInvalid(
            f"{name} has {len(token)} characters, it must be {MIN_TOKEN} or more of A-Z, a-z, 0-9 and "
            "._~+/-, such as `openssl rand -hex 32` gives"
        )


def find_by_token(credential: str, names: Mapping[str, str]) -> str | None:
    """Return the name of a credential, of names by digest; None for an unknown one. Takes as long for either.

    One that is too short is unknown, though a file may have the digest of a short password.
    """
    digest, found = token_digest(credential) if len(credential) >= MIN_TOKEN else "", None
    for known, name in names.items():
        if hmac.compare_digest(known, digest):
            found = name
    return found


class RateLimit:
    """Limits each client to a number of requests a minute, of which a tenth may come at once (GCRA, ITU-T I.371).

    Each request occupies its client for 60 / rate seconds, one after the other. A request is refused if its turn would
    end more than a burst ahead of now. This keeps one float a client; the memory storage of the package `limits`
    starts a thread and keeps every address that it ever saw.
    """

    def __init__(self, requests_per_minute: int) -> None:
        self._interval_s = 60.0 / requests_per_minute
        self._burst_s = self._interval_s * max(requests_per_minute // 10, 1)
        self._busy_until: OrderedDict[str, float] = OrderedDict()

    def wait(self, address: str, now: float) -> int:
        """Return 0 if a request at `now` may pass, which is then counted, else the seconds to wait.

        `now` is in seconds of any monotonic clock.
        """
        client = client_network(address)
        until = max(self._busy_until.get(client, now), now) + self._interval_s
        if until - now > self._burst_s * (1 + 1e-9):
            return max(math.ceil(until - now - self._burst_s), 1)
        self._busy_until[client] = until
        self._busy_until.move_to_end(client)
        if len(self._busy_until) > _MAX_CLIENTS:
            self._busy_until.popitem(last=False)
        return 0


def client_network(address: str) -> str:
    """Return the network that a client's address stands for: in IPv6 its /64, which one client owns, else itself."""
    if ":" not in address:
        return address
    try:
        return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))
    except ValueError:
        return address
