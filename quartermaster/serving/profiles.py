"""Who may see what: the operator's file of profiles and tokens, `--profiles FILE`, and the callers that it knows.

The file is TOML, read whole or refused. A changed file is read anew at the next request.
"""

import logging
import os
import re
import secrets
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
from anyio.to_thread import run_sync
from msgspec import Meta

from quartermaster.serving.audit import Actions, AuditLog
from quartermaster.serving.tokens import RateLimit, check_token, find_by_token, token_digest
from router.errors import QuartermasterError, SettingsInvalid
from router.router import Router
from router.selection.profile import Profile
from router.typed import converted

CALLER = "quartermaster.caller"  # the key of an ASGI scope
_logger = logging.getLogger("quartermaster.serving")
_MAX_BYTES = 4_194_304
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
# A file that was written this shortly before it was read may be written again within its clock's tick.
_UNSETTLED_NS = 100_000_000


class Token(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A token of the file: the name of its profile, and its SHA-256 or the environment's variable that holds it.

    Without `requests_per_minute` or `expires` there is none. `changes` permits to register and remove tools,
    where the server is open to it.
    """

    profile: str
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None = None
    env: str | None = None
    requests_per_minute: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    expires: Annotated[datetime, Meta(tz=True)] | None = None
    changes: bool = False


class _Rows(msgspec.Struct, forbid_unknown_fields=True):
    profiles: dict[str, dict[str, Any]]
    tokens: dict[str, dict[str, Any]] = {}
    audit: str | None = None
    audit_text: bool = False
    audit_fsync: bool = False


@dataclass(frozen=True, slots=True)
class ProfilesFile:
    """Profiles and tokens by name, the names of tokens by SHA-256, and the audit log, None for none."""

    profiles: Mapping[str, Profile]
    tokens: Mapping[str, Token]
    digests: Mapping[str, str]
    audit: AuditLog | None

    @classmethod
    def load(cls, path: Path, environment: Mapping[str, str] = os.environ) -> "ProfilesFile":
        """Read the file. `environment` has the tokens that it names by `env`.

        Raises SettingsInvalid, with the file and the table, where anything in it is wrong.
        """
        try:
            with path.open("rb") as opened:
                content = opened.read(_MAX_BYTES + 1)
            if len(content) > _MAX_BYTES:
                raise SettingsInvalid(f"{path} has more than {_MAX_BYTES:,} bytes: it is not a file of profiles")
            rows = converted(tomllib.loads(content.decode("utf-8")), _Rows, place=f"{path}: ", secret=True)
        except (OSError, ValueError, RecursionError) as error:  # of decoding and of TOML
            raise SettingsInvalid(f"the profiles {path} cannot be read: {error}") from error
        if not rows.profiles:
            raise SettingsInvalid(f"{path}: profiles is empty: write one, such as [profiles.support]")
        profiles = {name: _profile(f"{path}: profiles.{name}", name, table) for name, table in rows.profiles.items()}
        tokens, digests = dict[str, Token](), dict[str, str]()
        for name, table in rows.tokens.items():
            place = f"{path}: tokens.{name}"
            _check_name(place, name)
            tokens[name] = token = converted(table, Token, place=f"{place}: ", secret=True)
            _check_grants(place, token, profiles)
            if (other := digests.setdefault(_digest(place, token, environment), name)) != name:
                raise SettingsInvalid(f"{place} is the same token as tokens.{other}: make a new one")
        audit = None
        if rows.audit is not None:
            audit = AuditLog(path.parent / rows.audit, text=rows.audit_text, fsync=rows.audit_fsync)
        return cls(profiles, tokens, digests, audit)


def _profile(place: str, name: str, table: Mapping[str, Any]) -> Profile:
    _check_name(place, name)
    if "name" in table:
        raise SettingsInvalid(f"{place}: there is no field name: the table's own name is that of the profile")
    if "selection" not in table:  # a file that was cut off must not open the whole catalog
        raise SettingsInvalid(f"{place}: selection is missing, it must be a table; `selection = {{}}` opens all tools")
    return converted({"name": name, **table}, Profile, place=f"{place}: ", secret=True)


def _check_name(place: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise SettingsInvalid(f"{place}: a name has 1 to 64 characters of A-Z, a-z, 0-9 and ._-")


def _check_grants(place: str, token: Token, profiles: Mapping[str, Profile]) -> None:
    if token.profile not in profiles:
        raise SettingsInvalid(f"{place}: there is no profile {token.profile!r}: choose from {', '.join(profiles)}")
    if token.changes and not profiles[token.profile].sees_all:
        raise SettingsInvalid(
            f"{place}: changes is true, and the profile {token.profile!r} leaves tools out: a change may reach any "
            "tool, so give this token a profile with `selection = {}`"
        )


def _digest(place: str, token: Token, environment: Mapping[str, str]) -> str:
    """Return the SHA-256 of a token. Raises SettingsInvalid where the table gives none, or two."""
    if (token.sha256 is None) == (token.env is None):
        raise SettingsInvalid(
            f"{place}: write either sha256 or env; `quartermaster tokens new` prints both a token and its sha256"
        )
    if token.sha256 is not None:
        return token.sha256
    secret = environment.get(token.env or "")
    if secret is None:
        raise SettingsInvalid(f"{place}: the environment has no {token.env}: set it, or write sha256")
    check_token(f"{place}: {token.env}", secret)
    return token_digest(secret)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent one request, and the router as this caller may use it. Without profiles, anybody may use all of it.

    `token` is the token's name, None over stdio. `actions` collects what the audit log records of the request.
    """

    router: Router
    profile: Profile | None = None
    token: str | None = None
    changes: bool = True
    audit: AuditLog | None = None
    request: str = field(default_factory=lambda: secrets.token_hex(8))
    actions: Actions = field(default_factory=Actions)

    @property
    def sees_all(self) -> bool:
        """Return whether no tool of the catalog is kept from this caller."""
        return self.profile is None or self.profile.sees_all

    @property
    def may_call(self) -> bool:
        """Return whether this caller may call tools."""
        return self.profile is None or self.profile.call

    async def record(self, path: str, outcome: str) -> None:
        """Write the request to the audit log, where there is one. Raises AuditFailed."""
        if self.audit is not None and self.profile is not None:
            row = {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "request": self.request,
                "token": self.token,
                "profile": self.profile.name,
                "path": path,
                "outcome": outcome,
            }
            await run_sync(self.audit.append, row | self.actions.row(texts=self.audit.text))


class CallerRefused(QuartermasterError):
    """Raised for a known caller who may not call now. `wait_s` is the seconds to wait; None if waiting is useless."""

    def __init__(self, caller: Caller, message: str, wait_s: int | None = None) -> None:
        super().__init__(message)
        self.caller = caller
        self.wait_s = wait_s


class Callers:
    """The callers of a profiles file, by token or profile. A new file counts from the next request on.

    A new file that is wrong is reported once, and the one before stays in force.
    """

    def __init__(self, path: Path, router: Router, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        """Read the file. Raises SettingsInvalid where it is wrong."""
        self._path = path
        self._router = router
        self._now = now
        self._limits: dict[tuple[str, int], RateLimit] = {}  # a token whose rate stays the same goes on counting
        self._seen = _signature(path)
        self._use(ProfilesFile.load(path))

    def of_token(self, credential: str) -> Caller | None:
        """Return the caller of a token; None for an unknown token. Raises CallerRefused: expired, or too often."""
        self._look()
        name = find_by_token(credential, self._file.digests)
        if name is None:
            return None
        token = self._file.tokens[name]
        profile = self._file.profiles[token.profile]
        caller = Caller(self._routers[token.profile], profile, name, token.changes, self._file.audit)
        if token.expires is not None and self._now() >= token.expires:
            when = token.expires.isoformat().replace("+00:00", "Z")
            raise CallerRefused(caller, f"the token {name!r} expired at {when}: ask the operator for a new one")
        if (rate := token.requests_per_minute) is not None:
            limit = self._limits.setdefault((name, rate), RateLimit(rate))
            if wait := limit.wait(name, time.monotonic()):
                allowed = f"the token {name!r} allows {rate:,} requests a minute"
                raise CallerRefused(caller, f"{allowed}: wait {wait} s", wait)
        return caller

    def of_profile(self, name: str) -> Caller:
        """Return a caller with a profile and no token. Raises SettingsInvalid where there is no such profile."""
        self._look()
        if name not in self._file.profiles:
            known = ", ".join(self._file.profiles)
            raise SettingsInvalid(f"{self._path}: there is no profile {name!r}: choose from {known}")
        return Caller(self._routers[name], self._file.profiles[name], changes=False, audit=self._file.audit)

    def _look(self) -> None:
        """Read the file anew if it has changed."""
        if (seen := _signature(self._path)) == self._seen:
            return
        self._seen = seen
        try:
            self._use(ProfilesFile.load(self._path))
        except SettingsInvalid as error:
            _logger.error("the new profiles are refused, those from before stay in force: %s", error)
        else:
            _logger.info("%s: the new profiles are in force", self._path)

    def _use(self, file: ProfilesFile) -> None:
        if file.audit is not None:  # nothing is served that could not be recorded
            try:
                file.audit.open()
            except OSError as error:
                place = f"audit is {str(file.audit.path)!r}"
                raise SettingsInvalid(f"{place}, which cannot be written: {error.strerror}") from error
        self._file = file
        self._routers = {name: self._router.for_profile(profile) for name, profile in file.profiles.items()}


def _signature(path: Path) -> object:
    """Return what changes with the file. One that was just written is never the same: it is read again."""
    try:
        stat = path.stat()
    except OSError as error:
        return str(error)
    if abs(time.time_ns() - stat.st_mtime_ns) < _UNSETTLED_NS:
        return object()
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
