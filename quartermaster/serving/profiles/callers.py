"""Who calls: a token of the profiles file, with the router as its profile sees it. A changed file is read anew."""

import logging
import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from quartermaster.serving.profiles.audit import Actions, AuditLog
from quartermaster.serving.profiles.file import ProfilesFile
from quartermaster.serving.rate_limit import RateLimit
from quartermaster.serving.tokens import find_by_token
from router.errors import QuartermasterError, SettingsInvalid
from router.router import Router
from router.selection import Profile

CALLER = "quartermaster.caller"  # the key of an ASGI scope
_logger = logging.getLogger("quartermaster.serving")
# A file that was written this shortly before it was read may be written again within its clock's tick.
_UNSETTLED_NS = 100_000_000


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent one request, and the router as this caller may use it. Without profiles, anybody may use all of it.

    `token` is the token's name, None over stdio. `actions` collects what the audit log tells of the request.
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
            await self.audit.write(
                request=self.request,
                token=self.token,
                profile=self.profile.name,
                path=path,
                outcome=outcome,
                actions=self.actions,
            )


class CallerRefused(QuartermasterError):
    """Raised for a known caller who may not call now. `wait_s` are the seconds to wait; None where none help."""

    def __init__(self, caller: Caller, message: str, wait_s: int | None = None) -> None:
        super().__init__(message)
        self.caller = caller
        self.wait_s = wait_s


class Callers:
    """The callers of a profiles file, by token or profile. A new file counts from the next request on.

    A new file that is wrong is told of once, and the one before stays in force.
    """

    def __init__(
        self,
        path: Path,
        router: Router,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Read the file. Raises SettingsInvalid where it is wrong."""
        self._path = path
        self._router = router
        self._now = now
        self._limits: dict[str, tuple[int, RateLimit]] = {}
        self._seen = _signature(path)
        self._use(ProfilesFile.load(path))

    def of_token(self, credential: str) -> Caller | None:
        """Return the caller of a token; None for an unknown token. Raises CallerRefused: expired, or too often."""
        self._look()
        token = find_by_token(credential, self._by_digest)
        if token is None:
            return None
        caller = Caller(self._routers[token.profile.name], token.profile, token.name, token.changes, self.audit)
        if token.expires is not None and self._now() >= token.expires:
            when = token.expires.isoformat().replace("+00:00", "Z")
            raise CallerRefused(caller, f"the token {token.name!r} expired at {when}: ask the operator for a new one")
        if token.requests_per_minute is not None:
            limit = self._limits[token.name][1]
            if wait := limit.wait(token.name, time.monotonic()):
                rate = f"{token.requests_per_minute:,} requests a minute"
                raise CallerRefused(caller, f"the token {token.name!r} allows {rate}: wait {wait} s", wait)
        return caller

    def of_profile(self, name: str) -> Caller:
        """Return a caller with a profile and no token. Raises SettingsInvalid where there is no such profile."""
        self._look()
        if name not in self._file.profiles:
            known = ", ".join(self._file.profiles)
            raise SettingsInvalid(f"{self._path}: there is no profile {name!r}: choose from {known}")
        return Caller(self._routers[name], self._file.profiles[name], changes=False, audit=self.audit)

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """Return the profiles in force by name: the same object until the file changes."""
        self._look()
        return self._file.profiles

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
        audit = None
        if file.audit is not None:
            audit = AuditLog(file.audit, text=file.audit_text, fsync=file.audit_fsync)
            _check_writable(file.audit)
        self._file = file
        self.audit = audit
        self._by_digest = tuple((token.sha256, token) for token in file.tokens)
        self._routers: Mapping[str, Router] = {
            name: self._router.for_profile(profile) for name, profile in file.profiles.items()
        }
        self._limits = self._limits_of(file)

    def _limits_of(self, file: ProfilesFile) -> dict[str, tuple[int, RateLimit]]:
        """Return the limits of a file's tokens. One whose rate is the same goes on counting."""
        limits: dict[str, tuple[int, RateLimit]] = {}
        for token in file.tokens:
            if (rate := token.requests_per_minute) is not None:
                known = self._limits.get(token.name)
                limits[token.name] = known if known and known[0] == rate else (rate, RateLimit(rate))
        return limits


def _check_writable(audit: Path) -> None:
    """Raise SettingsInvalid where the audit log cannot be opened: nothing is served that it could not tell of."""
    try:
        os.close(os.open(audit, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise SettingsInvalid(f"audit is {str(audit)!r}, which cannot be written: {error.strerror}") from error


def _signature(path: Path) -> object:
    """Return what changes with the file. One that was just written is never the same: it is read again."""
    try:
        stat = path.stat()
    except OSError as error:
        return str(error)
    if abs(time.time_ns() - stat.st_mtime_ns) < _UNSETTLED_NS:
        return object()
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
