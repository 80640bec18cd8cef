"""Access to a source: headers, the environment of a command, OAuth. Values may hold `${VARIABLE}`."""

import ipaddress
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from platformdirs import user_config_path
from pydantic import SecretStr, field_validator, model_validator

from pipeline.settings import variables
from pipeline.settings.base import Section

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VARIABLE = re.compile(r"[^=\0]+")
# The client's own: another value would break the connection, or lead it to another host.
_RESERVED = frozenset(
    "connection content-length host mcp-protocol-version mcp-session-id te transfer-encoding upgrade".split()
)

Grant = Literal["client_credentials", "authorization_code"]


class OAuthSettings(Section):
    """OAuth at a remote MCP server: by the client's own credentials, or for a person who has logged in.

    An empty section means a person's stored token, which `quartermaster login` fetches.
    """

    grant: Grant | None = None
    """By default `client_credentials` where there is a `client_secret`, else `authorization_code`."""
    client_id: SecretStr | None = None
    """The client's id; `${VARIABLE}` is filled in from the environment."""
    client_secret: SecretStr | None = None
    """The client's secret; `${VARIABLE}` is filled in from the environment."""
    scope: str | None = None
    """The scopes to ask for, separated by spaces."""
    issuer: str | None = None
    """The authorization server that the client belongs to, where it is not the source's own server. A secret is sent
    nowhere else."""
    token_file: Path | None = None
    """Where a person's token is stored, in place of the default folder."""

    @field_validator("client_id", "client_secret")
    @classmethod
    def _refers(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not variables.check(value.get_secret_value()):
            raise ValueError("it is empty")
        return value

    @field_validator("issuer")
    @classmethod
    def _is_safe(cls, value: str | None) -> str | None:
        if value is not None and not _is_https(value):
            raise ValueError("it must be an https address: secrets are sent there")
        return value

    @model_validator(mode="after")
    def _complete(self) -> "OAuthSettings":
        if self.client_secret is not None and self.client_id is None:
            raise ValueError("client_secret needs a client_id")
        if self.by_credentials and self.client_secret is None:
            raise ValueError("the grant client_credentials needs a client_id and a client_secret")
        return self

    @property
    def by_credentials(self) -> bool:
        """Return whether the client acts for itself; else a person has logged in, and the token is stored."""
        return self.grant == "client_credentials" or (self.grant is None and self.client_secret is not None)


def config_folder() -> Path:
    """Return the folder of what a user has set up once for all catalogs; it need not exist."""
    return user_config_path("quartermaster", appauthor=False)


def check_headers(headers: Mapping[str, SecretStr]) -> None:
    """Raise ValueError where a header has a name or a value that cannot be sent."""
    names: set[str] = set()
    for name, value in headers.items():
        if not _HEADER.fullmatch(name):
            raise ValueError(f"{name!r} cannot name a header")
        if name.lower() in _RESERVED:
            raise ValueError(f"the header {name} is set by the program itself")
        if name.lower() in names:
            raise ValueError(f"the header {name} stands there twice, in small and in capital letters")
        names.add(name.lower())
        _check_value(f"the header {name}", value)


def check_env(env: Mapping[str, SecretStr]) -> None:
    """Raise ValueError where a variable has a name or a value that a process cannot be given."""
    for name, value in env.items():
        if not _VARIABLE.fullmatch(name):
            raise ValueError(f"{name!r} cannot name a variable")
        _check_value(f"the variable {name}", value)


def _check_value(what: str, value: SecretStr) -> None:
    try:
        text = variables.check(value.get_secret_value())
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    if "\0" in text or "\n" in text or "\r" in text:
        raise ValueError(f"{what} holds a control character")


def _is_https(url: str) -> bool:
    """Return whether an address is of https, or of this machine."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host)))


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return False
