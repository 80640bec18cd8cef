"""Private keys: PKCS #8 in PEM, in a file that only its user may read, or in an environment variable."""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from router.errors import SettingsInvalid
from router.files import read_bounded
from router.signing.ed25519 import PublicKey, Signer, primitives

PASSPHRASE_VARIABLE = "QUARTERMASTER_KEY_PASSPHRASE"  # noqa: S105 - a name
PEM_START = "-----BEGIN"
PUBLIC_SUFFIX = ".pub"
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_MOST_BYTES = 16_384


def read_signer(source: str, folder: Path = Path()) -> Signer:
    """Return the signer of a private key.

    Args:
        source: A path to a PEM file, or `${NAME}` for the variable that holds the PEM text.
        folder: Where a relative path begins.

    Raises:
        SettingsInvalid: It cannot be read, is encrypted with another passphrase, or is no Ed25519 key.
    """
    ed25519 = primitives()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization

    place, pem = _pem(source, folder)
    phrase = os.environ.get(PASSPHRASE_VARIABLE)
    try:
        key = serialization.load_pem_private_key(pem, phrase.encode() if phrase and b"ENCRYPTED" in pem else None)
    except TypeError:
        raise SettingsInvalid(f"{place} is encrypted: set its passphrase in {PASSPHRASE_VARIABLE}") from None
    except (ValueError, UnsupportedAlgorithm):  # their messages may quote the key
        why = f", or not by the passphrase in {PASSPHRASE_VARIABLE}" if phrase else ""
        raise SettingsInvalid(f"{place} cannot be read as a private key in PEM{why}") from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise SettingsInvalid(f"{place} is no Ed25519 key: make one with `quartermaster keys generate`")
    return _signer(key)


def generate(path: Path) -> Signer:
    """Write a new private key and, with the suffix `.pub`, its public key; return the signer.

    The private file is readable by its user alone, and encrypted where QUARTERMASTER_KEY_PASSPHRASE is set. Raises
    SettingsInvalid where a file is there already, or cannot be written.
    """
    from cryptography.hazmat.primitives import serialization

    key = primitives().Ed25519PrivateKey.generate()
    phrase = os.environ.get(PASSPHRASE_VARIABLE)
    encryption = serialization.BestAvailableEncryption(phrase.encode()) if phrase else serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
    signer = _signer(key)
    public = path.with_name(path.name + PUBLIC_SUFFIX)
    try:
        if public.exists():
            raise FileExistsError(None, None, str(public))
        _write_new(path, pem, 0o600)
        _write_new(public, f"{signer.public.text}\n".encode(), 0o644)
    except FileExistsError as error:
        raise SettingsInvalid(f"{error.filename} exists: a key is never overwritten; choose another name") from error
    except OSError as error:
        raise SettingsInvalid(f"the key {path} cannot be written: {error}") from error
    return signer


def _signer(key: Any) -> Signer:
    return Signer(PublicKey(key.public_key().public_bytes_raw()), key.sign)


def _pem(source: str, folder: Path) -> tuple[str, bytes]:
    """Return what messages call a key, and its text."""
    if PEM_START in source:
        raise SettingsInvalid("a private key is given as a path, or as ${NAME} of a variable, never as its text")
    if match := _REFERENCE.fullmatch(source.strip()):
        value = os.environ.get(match[1], "")
        if not value:
            raise SettingsInvalid(f"the private key {source}: the variable {match[1]} is not set")
        return f"the private key in {match[1]}", value.replace("\\n", "\n").encode()
    path = folder / source
    try:
        return f"the private key {path}", read_bounded(path, _MOST_BYTES)
    except OSError as error:
        raise SettingsInvalid(f"the private key {path} cannot be read: {error.strerror or error}") from error


def _write_new(path: Path, content: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError:
        with suppress(OSError):
            path.unlink()
        raise
