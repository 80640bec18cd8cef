"""Store an OAuth token: one JSON file per server, which only its user may read.

    {"server": "https://tools.example/mcp", "token": {"access_token": …, "refresh_token": …},
     "client": {"client_id": …, "issuer": "https://login.example"}}

`token` and `client` are what the authorization server answered (RFC 6749, 7591). `quartermaster login` writes it; one
that came another way may be put there by hand.
"""

import hashlib
import json
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import BaseModel, ValidationError

from pipeline.errors import RunAborted
from quartermaster.validation import describe_requirement

_OTHERS = 0o077
_Model = TypeVar("_Model", bound=BaseModel)


def token_path(url: str, folder: Path) -> Path:
    """Return the path of a server's token: its host, and a hash that tells servers of one host apart."""
    server = server_of(url)
    host = re.sub(r"[^A-Za-z0-9.-]+", "-", urlsplit(server).netloc)
    return folder / "tokens" / f"{host}-{hashlib.sha256(server.encode()).hexdigest()[:8]}.json"


def server_of(url: str) -> str:
    """Return a server's address without user, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2].lower(), parts.path, "", ""))


class TokenFile:
    """The SDK's TokenStorage over a file. Raises RunAborted where the file cannot be used or written."""

    def __init__(self, path: Path, url: str) -> None:
        self.path = path
        self._server = server_of(url)

    async def get_tokens(self) -> OAuthToken | None:
        """Return the stored token; None where there is no file."""
        return self._part("token", OAuthToken)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the client that the token was given to; None where the file names none."""
        return self._part("client", OAuthClientInformationFull)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store a refreshed token; one that brings no refresh token keeps the one before (RFC 6749, 6)."""
        before = await self.get_tokens()
        if tokens.refresh_token is None and before is not None:
            tokens.refresh_token = before.refresh_token
        self.write(tokens, await self.get_client_info())

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store the client; without a token there is nothing to keep."""
        if (tokens := await self.get_tokens()) is not None:
            self.write(tokens, client_info)

    def write(self, tokens: OAuthToken, client: OAuthClientInformationFull | None) -> None:
        """Replace the file at once: whoever reads it finds the old token or the new one."""
        content = {
            "server": self._server,
            "token": tokens.model_dump(mode="json", exclude_none=True),
            "client": client.model_dump(mode="json", exclude_none=True) if client else None,
        }
        staged = self.path.with_name(f".{self.path.name}-{secrets.token_hex(4)}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with os.fdopen(os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                json.dump(content, file, indent=2)
            staged.replace(self.path)
        except OSError as error:
            with suppress(OSError):
                staged.unlink()
            raise RunAborted(f"the token could not be stored in {self.path}: {error.strerror}") from error

    def _part(self, name: str, kind: type[_Model]) -> _Model | None:
        content = self._content()
        if content is None or content.get(name) is None:
            return None
        try:
            return kind.model_validate(content[name])
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(map(str, (name, *first["loc"])))
            wrong = describe_requirement(first["type"], first.get("ctx"), table="an object")
            raise RunAborted(f"the token file {self.path} cannot be used: {field} {wrong}") from None

    def _content(self) -> dict[str, Any] | None:
        try:
            with self.path.open(encoding="utf-8") as file:
                if os.name == "posix" and (mode := os.fstat(file.fileno()).st_mode & 0o777) & _OTHERS:
                    raise RunAborted(
                        f"others may read the token file {self.path} (mode {mode:04o}): run chmod 600 {self.path}"
                    )
                content = json.load(file)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RunAborted(f"the token file {self.path} cannot be read: {error.strerror}") from error
        except (ValueError, RecursionError):
            raise RunAborted(f"the token file {self.path} is not JSON") from None
        if not isinstance(content, dict) or content.get("server") != self._server:
            raise RunAborted(f'the token file {self.path} is not of this server: its "server" must be {self._server}')
        return content
