"""Access to a source or a hook: address, command, headers, environment, OAuth. Values may hold `${VARIABLE}`."""

import re
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, field_validator, model_validator

from pipeline.settings import variables
from pipeline.settings.base import Section
from quartermaster.addresses import is_this_machine

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# The client's own: another value would break the connection, or lead it to another host.
_RESERVED = frozenset(
    "connection content-length host mcp-protocol-version mcp-session-id te transfer-encoding upgrade".split()
)


def _fillable(value: SecretStr) -> SecretStr:
    text = variables.check(value.get_secret_value())
    if any(character in text for character in "\0\n\r"):
        raise ValueError("it holds a control character")
    return value


def _header_name(name: str) -> str:
    if not _HEADER.fullmatch(name):
        raise ValueError("it cannot name a header")
    if name.lower() in _RESERVED:
        raise ValueError("this header is set by the program itself")
    return name


def _variable_name(name: str) -> str:
    if not name or "=" in name or "\0" in name:
        raise ValueError("it cannot name a variable")
    return name


def _each_once(headers: dict[str, SecretStr]) -> dict[str, SecretStr]:
    if len({name.lower() for name in headers}) < len(headers):
        raise ValueError("a header stands there twice, in small and in capital letters")
    return headers


def _address(url: str) -> str:
    # As far as can be seen before its variables are known.
    if not (variables.check(url).startswith("${") or is_web(variables.stand_in(url))):
        raise ValueError("it is not an address of http or https")
    return url


def _with_program(command: tuple[str, ...]) -> tuple[str, ...]:
    if not (command and command[0]):
        raise ValueError("it is empty: it holds the program and its arguments")
    return command


Address = Annotated[str, AfterValidator(_address)]
Command = Annotated[tuple[str, ...], AfterValidator(_with_program)]
Fillable = Annotated[SecretStr, AfterValidator(_fillable)]
Headers = Annotated[dict[Annotated[str, AfterValidator(_header_name)], Fillable], AfterValidator(_each_once)]
Environment = dict[Annotated[str, AfterValidator(_variable_name)], Fillable]
Grant = Literal["client_credentials", "authorization_code"]


class OAuthSettings(Section):
    """OAuth at a remote MCP server: by the client's own credentials, or for a person who has logged in.

    An empty section means a person's stored token, which `quartermaster login` fetches.
    """

    grant: Grant | None = None
    """By default `client_credentials` where there is a `client_secret`, else `authorization_code`."""
    client_id: Annotated[Fillable, Field(min_length=1)] | None = None
    """The client's id; `${VARIABLE}` is filled in from the environment."""
    client_secret: Annotated[Fillable, Field(min_length=1)] | None = None
    """The client's secret; `${VARIABLE}` is filled in from the environment."""
    scope: str | None = None
    """The scopes to ask for, separated by spaces."""
    issuer: str | None = None
    """The authorization server that the client belongs to, where it is not the source's own server. A secret is sent
    nowhere else."""
    token_file: Path | None = None
    """Where a person's token is stored, in place of the default folder."""

    @field_validator("issuer")
    @classmethod
    def _is_safe(cls, value: str | None) -> str | None:
        if value is not None:
            parts = urlsplit(value) if is_web(value) else None
            if parts is None or not (parts.scheme == "https" or is_this_machine(parts.hostname or "")):
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


def is_web(url: str) -> bool:
    """Return whether a URL is one of http or https that can be asked."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # quotes the user and password of what it refuses
        return False
