"""The keys whose signatures count: given as texts or in files, with their expiry and revocation."""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from router.errors import SettingsInvalid
from router.files import read_bounded
from router.signing.ed25519 import PREFIX, PublicKey, primitives
from router.signing.envelope import Envelope, Statement

KeySources = str | Path | Sequence[str | Path]
_MOST_BYTES = 262_144
_KEY_ID = re.compile("[0-9a-f]{16}")


class _RawKey(msgspec.Struct, forbid_unknown_fields=True):
    public: str
    name: Annotated[str, Meta(max_length=255)] = ""
    expires: datetime | None = None


class _RawFile(msgspec.Struct, forbid_unknown_fields=True):
    key: list[_RawKey] = []
    revoked: list[str] = []


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A public key, with the time at which it expires and what its owner calls it."""

    public: PublicKey
    name: str = ""
    expires: datetime | None = None
    revoked: bool = False

    def problem(self, now: datetime) -> str:
        """Return why signatures of the key do not count any more; empty where they do."""
        if self.revoked:
            return f"the key {self.public.key_id} is revoked"
        if self.expires is not None and now >= self.expires:
            return f"the key {self.public.key_id} expired at {self.expires.isoformat()}"
        return ""


class TrustedKeys:
    """Keys and files of keys. Files are read anew at each check: what was revoked meanwhile counts no more."""

    def __init__(self, sources: KeySources) -> None:
        """Read the keys once. Raises SettingsInvalid where one is wrong, or there is none."""
        primitives()
        given = [sources] if isinstance(sources, str | Path) else list(sources)
        if any(not isinstance(source, str | Path) or not str(source).strip() for source in given) or not given:
            raise SettingsInvalid(
                f"trusted_keys is {sources!r}: give public keys ({PREFIX}…) or files of keys; None checks no signature"
            )
        self._sources = given
        self.read()

    def read(self) -> tuple[TrustedKey, ...]:
        """Return the keys as they are now. Raises SettingsInvalid."""
        keys: list[TrustedKey] = []
        revoked: set[str] = set()
        for source in self._sources:
            if isinstance(source, str) and source.strip().startswith(PREFIX):
                keys.append(TrustedKey(PublicKey.parse(source)))
            else:
                found, gone = read_keys_file(Path(source))
                keys += found
                revoked |= gone
        if not keys:
            raise SettingsInvalid(f"{', '.join(map(str, self._sources))}: no key in it")
        return tuple(TrustedKey(key.public, key.name, key.expires, key.public.key_id in revoked) for key in keys)

    def statement(self, data: bytes) -> tuple[Statement, TrustedKey]:
        """Return the statement in the bytes of an envelope, and the trusted key that signed it.

        Raises ValueError with the reason where no trusted key did, and SettingsInvalid as `read` does.
        """
        envelope = Envelope.from_json(data)
        key = _signing_key(envelope, self.read(), datetime.now(UTC))
        return Statement.from_payload(envelope), key


def read_keys_file(path: Path) -> tuple[list[TrustedKey], set[str]]:
    """Return the keys of a file, and what it lists as revoked. Raises SettingsInvalid.

    A file named `.toml` has tables [[key]] and a list `revoked`; any other has a public key in each line.
    """
    try:
        text = read_bounded(path, _MOST_BYTES).decode()
        if path.suffix != ".toml":
            lines = (line.strip() for line in text.splitlines())
            return [TrustedKey(PublicKey.parse(line)) for line in lines if line and not line.startswith("#")], set()
        raw = msgspec.convert(tomllib.loads(text), _RawFile)
        keys = [TrustedKey(PublicKey.parse(key.public), key.name, _in_utc(key.expires)) for key in raw.key]
        revoked = {_key_id(entry) for entry in raw.revoked}
    except (OSError, ValueError, RecursionError) as error:  # msgspec's and tomllib's errors are ValueErrors
        raise SettingsInvalid(f"the file of keys {path} cannot be read: {error}") from error
    except SettingsInvalid as error:
        raise SettingsInvalid(f"the file of keys {path}: {error}") from error
    return keys, revoked


def _key_id(entry: str) -> str:
    """Return the id of a revoked key, given as such or as a public key. An entry that is neither would revoke none."""
    return entry if _KEY_ID.fullmatch(entry) else PublicKey.parse(entry).key_id


def _signing_key(envelope: Envelope, keys: Iterable[TrustedKey], now: datetime) -> TrustedKey:
    """Return a trusted key that signed an envelope. Raises ValueError with the reason where none did."""
    by_id: dict[str, list[TrustedKey]] = {}
    for key in keys:
        by_id.setdefault(key.public.key_id, []).append(key)
    reasons = []
    for signature in envelope.signatures:
        if signature.keyid not in by_id:
            reasons.append(f"the key {signature.keyid!r:.40} is not trusted")
        for key in by_id.get(signature.keyid, ()):
            if problem := key.problem(now):
                reasons.append(problem)
            elif key.public.verifies(signature.sig, envelope.message):
                return key
            else:
                reasons.append(f"the signature by the key {signature.keyid} does not match")
    raise ValueError("; ".join(dict.fromkeys(reasons)) or "it has no signature")


def _in_utc(moment: datetime | None) -> datetime | None:
    """Return a time with its zone; one without is in UTC."""
    return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)
