"""Bearer tokens: made at random, kept as their SHA-256, compared in constant time."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from typing import TypeVar

from router.errors import SettingsInvalid

_Value = TypeVar("_Value")

MIN_TOKEN = 16  # characters
_RANDOM_BYTES = 32
# The characters of a bearer token (RFC 6750, 2.1).
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


def new_token() -> str:
    """Return a random token of 43 characters (256 bits)."""
    return secrets.token_urlsafe(_RANDOM_BYTES)


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


def find_by_token(credential: str, by_digest: Iterable[tuple[str, _Value]]) -> _Value | None:
    """Return the value of a credential's digest; None for an unknown one. Takes as long for either.

    One that is too short is unknown, though a file may have the digest of a short password.
    """
    digest, found = token_digest(credential) if len(credential) >= MIN_TOKEN else "", None
    for known, value in by_digest:
        if hmac.compare_digest(known, digest):
            found = value
    return found
