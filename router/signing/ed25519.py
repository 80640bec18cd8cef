"""Ed25519 keys. The package `cryptography` is imported at the first use."""

import base64
import binascii
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from router.distribution import install_command
from router.errors import SettingsInvalid

PREFIX = "ed25519:"
KEY_BYTES, SIGNATURE_BYTES = 32, 64
_ID_DIGITS = 16


def primitives() -> Any:
    """Return the module of Ed25519 keys. Raises SettingsInvalid where `cryptography` is not installed."""
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise SettingsInvalid(
            f"signatures need the package cryptography, which is not installed: {install_command('signing')}"
        ) from error
    return ed25519


@dataclass(frozen=True, slots=True)
class PublicKey:
    """The public key of 32 bytes that checks signatures."""

    raw: bytes

    @classmethod
    def parse(cls, text: str) -> "PublicKey":
        """Return the key of a text such as `ed25519:Gb9E…=`. Raises SettingsInvalid where it is none."""
        text = text.strip()
        try:
            raw = base64.b64decode(text.removeprefix(PREFIX), validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        if not text.startswith(PREFIX) or len(raw) != KEY_BYTES:
            raise SettingsInvalid(
                f"{text[:80]!r} is not a public key: it must be {PREFIX} and {KEY_BYTES} bytes in Base64, as "
                "`quartermaster keys show` prints it"
            )
        return cls(raw)

    @property
    def text(self) -> str:
        """Return the key as a text, which `parse` reads."""
        return PREFIX + base64.b64encode(self.raw).decode()

    @property
    def key_id(self) -> str:
        """Return the first 16 hexadecimal digits of the SHA-256 of the key's bytes."""
        return hashlib.sha256(self.raw).hexdigest()[:_ID_DIGITS]

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Return True where the key's owner signed the message."""
        ed25519 = primitives()
        from cryptography.exceptions import InvalidSignature

        try:
            ed25519.Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True, slots=True)
class Signer:
    """A private key that signs. Neither its text form nor an error shows the key."""

    public: PublicKey
    sign: Callable[[bytes], bytes] = field(repr=False)
    """Returns the signature of a message, 64 bytes."""
