"""Store an OAuth token: one JSON file per server, which only its user may read.

    {"server": "https://tools.example/mcp", "token": {"access_token": …, "refresh_token": …},
     "client": {"client_id": …, "issuer": "https://login.example"}}

`token` and `client` are what the authorization server answered (RFC 6749, 7591). `quartermaster login` writes it; one
that came another way may be put there by hand.
"""

import hashlib
import os
import re
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import BaseModel, ValidationError

from pipeline.errors import RunAborted
from pipeline.sources.naming import without_user, wrong_field
from pipeline.sources.transport.access import write_private

_OTHERS = 0o077


class Stored(BaseModel):
    """The content of a token file."""

    server: str
    token: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None


def token_path(url: str, folder: Path) -> Path:
    """Return the path of a server's token: its host, and a hash that tells servers of one host apart."""
    server = _server_of(url)
    host = re.sub(r"[^A-Za-z0-9.-]+", "-", urlsplit(server).netloc)
    return folder / "tokens" / f"{host}-{hashlib.sha256(server.encode()).hexdigest()[:8]}.json"


def _server_of(url: str) -> str:
    """Return a server's address without user, query and fragment."""
    parts = without_user(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.lower(), query="", fragment=""))


class MemoryTokens:
    """The SDK's TokenStorage for as long as the process lives. `stored` is what it holds."""

    def __init__(self, url: str) -> None:
        self.stored = Stored(server=_server_of(url))

    def write(self, token: OAuthToken | None, client: OAuthClientInformationFull | None) -> None:
        """Replace what is stored."""
        self.stored = Stored.model_construct(server=self.stored.server, token=token, client=client)

    async def get_tokens(self) -> OAuthToken | None:
        """Return the token."""
        return self.stored.token

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the client that the token was given to."""
        return self.stored.client

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store a token; one that brings no refresh token keeps the one before (RFC 6749, 6)."""
        before = self.stored
        if tokens.refresh_token is None and before.token is not None:
            tokens.refresh_token = before.token.refresh_token
        self.write(tokens, before.client)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store the client."""
        self.write(self.stored.token, client_info)


class TokenFile(MemoryTokens):
    """The SDK's TokenStorage over a file, once that is loaded. Raises RunAborted where it cannot be used or written."""

    def __init__(self, path: Path, url: str) -> None:
        super().__init__(url)
        self.path = path

    def write(self, token: OAuthToken | None, client: OAuthClientInformationFull | None) -> None:
        """Replace the file at once: whoever reads it finds the old token or the new one."""
        super().write(token, client)
        try:
            write_private(self.path, self.stored.model_dump_json(exclude_none=True, indent=2))
        except OSError as error:
            raise RunAborted(f"the token could not be stored in {self.path}: {error.strerror}") from error

    def load(self) -> None:
        """Read the file into `stored`."""
        try:
            with self.path.open(encoding="utf-8") as file:
                mode = os.fstat(file.fileno()).st_mode & 0o777
                if os.name == "posix" and mode & _OTHERS:
                    raise RunAborted(
                        f"others may read the token file {self.path} (mode {mode:04o}): run chmod 600 {self.path}"
                    )
                found = Stored.model_validate_json(file.read())
        except OSError as error:
            raise RunAborted(f"the token file {self.path} cannot be read: {error.strerror}") from error
        except ValidationError as error:
            is_json = error.errors()[0]["type"] != "json_invalid"
            why = f"cannot be used: {wrong_field(error)}" if is_json else "is not JSON"
            raise RunAborted(f"the token file {self.path} {why}") from None
        if found.server != (expected := self.stored.server):
            raise RunAborted(f'the token file {self.path} is not of this server: its "server" must be {expected}')
        self.stored = found
