"""The operator's file of profiles and tokens, `--profiles FILE`: TOML, read whole or refused."""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from quartermaster.serving.tokens import check_token, token_digest
from router.errors import SettingsInvalid
from router.selection import Profile
from router.typed import converted

_MAX_BYTES = 4_194_304
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


class _TokenRow(msgspec.Struct, forbid_unknown_fields=True):
    profile: str
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None = None
    env: str | None = None
    requests_per_minute: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    expires: Annotated[datetime, Meta(tz=True)] | None = None
    changes: bool = False


class _FileRow(msgspec.Struct, forbid_unknown_fields=True):
    profiles: dict[str, dict[str, Any]]
    tokens: dict[str, dict[str, Any]] = {}
    audit: str | None = None
    audit_text: bool = False
    audit_fsync: bool = False


@dataclass(frozen=True, slots=True)
class TokenSettings:
    """A token by its name and SHA-256. Without `requests_per_minute` or `expires` there is no such limit.

    `changes` permits to register and remove tools, where the server is open to it.
    """

    name: str
    profile: Profile
    sha256: str
    requests_per_minute: int | None = None
    expires: datetime | None = None
    changes: bool = False


@dataclass(frozen=True, slots=True)
class ProfilesFile:
    """Profiles by name, tokens, and the settings of the audit log: its file, None for none.

    `audit_text` adds the texts of requests; `audit_fsync` waits until each line is on disk.
    """

    profiles: Mapping[str, Profile]
    tokens: tuple[TokenSettings, ...] = ()
    audit: Path | None = None
    audit_text: bool = False
    audit_fsync: bool = False

    @classmethod
    def load(cls, path: Path, environment: Mapping[str, str] | None = None) -> "ProfilesFile":
        """Read the file. `environment` has the tokens that it names by `env`; by default the process's own.

        Raises SettingsInvalid, with the file and the table, where anything in it is wrong.
        """
        try:
            with path.open("rb") as opened:
                content = opened.read(_MAX_BYTES + 1)
            if len(content) > _MAX_BYTES:
                raise SettingsInvalid(f"{path} has more than {_MAX_BYTES:,} bytes: it is no file of profiles")
            row = converted(tomllib.loads(content.decode("utf-8")), _FileRow, place=f"{path}: ", secret=True)
        except (OSError, ValueError, RecursionError) as error:  # of decoding and of TOML
            raise SettingsInvalid(f"the profiles {path} cannot be read: {error}") from error
        if not row.profiles:
            raise SettingsInvalid(f"{path}: profiles is empty: write one, such as [profiles.support]")
        profiles = {name: _profile(f"{path}: profiles.{name}", name, table) for name, table in row.profiles.items()}
        known = os.environ if environment is None else environment
        tokens = tuple(
            _token(f"{path}: tokens.{name}", name, table, profiles, known) for name, table in row.tokens.items()
        )
        _check_different(path, tokens)
        audit = None if row.audit is None else path.parent / row.audit
        return cls(profiles, tokens, audit, row.audit_text, row.audit_fsync)


def _profile(place: str, name: str, table: Mapping[str, Any]) -> Profile:
    _check_name(place, name)
    if "name" in table:
        raise SettingsInvalid(f"{place}: there is no field name: the table's own name is that of the profile")
    if "selection" not in table:  # a file that was cut off must not open the whole catalog
        raise SettingsInvalid(f"{place}: selection is missing, it must be a table; `selection = {{}}` opens all tools")
    return converted({"name": name, **table}, Profile, place=f"{place}: ", secret=True)


def _token(
    place: str, name: str, table: Mapping[str, Any], profiles: Mapping[str, Profile], environment: Mapping[str, str]
) -> TokenSettings:
    _check_name(place, name)
    row = converted(table, _TokenRow, place=f"{place}: ", secret=True)
    if row.profile not in profiles:
        raise SettingsInvalid(f"{place}: there is no profile {row.profile!r}: choose from {', '.join(profiles)}")
    profile = profiles[row.profile]
    if row.changes and not profile.sees_all:
        raise SettingsInvalid(
            f"{place}: changes is true, and the profile {row.profile!r} leaves tools out: a change may reach any tool, "
            "so give this token a profile with `selection = {}`"
        )
    if (row.sha256 is None) == (row.env is None):
        raise SettingsInvalid(
            f"{place}: write either sha256 or env; `quartermaster tokens new` prints both a token and its sha256"
        )
    if row.sha256 is not None:
        digest = row.sha256
    else:
        token = environment.get(row.env or "")
        if token is None:
            raise SettingsInvalid(f"{place}: the environment has no {row.env}: set it, or write sha256")
        check_token(f"{place}: {row.env}", token)
        digest = token_digest(token)
    return TokenSettings(name, profile, digest, row.requests_per_minute, row.expires, row.changes)


def _check_name(place: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise SettingsInvalid(f"{place}: a name has 1 to 64 characters of A-Z, a-z, 0-9 and ._-")


def _check_different(path: Path, tokens: tuple[TokenSettings, ...]) -> None:
    names: dict[str, str] = {}
    for token in tokens:
        if (other := names.setdefault(token.sha256, token.name)) != token.name:
            raise SettingsInvalid(f"{path}: tokens.{token.name} is the same token as tokens.{other}: make a new one")
