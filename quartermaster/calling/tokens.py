"""Tokens of OAuth client credentials: asked for once, kept in memory until shortly before they end."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import quote_plus, urlencode

import msgspec

from quartermaster.calling.auth import Auth, ClientCredentials, basic_credentials
from quartermaster.calling.errors import CallFailed
from quartermaster.calling.header_rules import header_problem
from quartermaster.calling.requests import HttpRequest
from quartermaster.calling.sending import Limits, origin_of, send

_MAX_BYTES = 65_536
_EARLY_S = 30.0  # a token is not used in its last seconds: it might end on the way
_DEFAULT_S = 300.0  # of a token whose end nobody tells
_FORM = "application/x-www-form-urlencoded"


class _Answer(msgspec.Struct):
    access_token: Annotated[str, msgspec.Meta(min_length=1)]
    token_type: str = "Bearer"  # noqa: S105 - no secret
    expires_in: float | None = None


class _Refusal(msgspec.Struct):
    error: str = ""


@dataclass
class TokenCache:
    """The tokens that were granted, by credentials. It belongs to one process and is written nowhere."""

    clock: Callable[[], float] = time.monotonic
    _tokens: dict[ClientCredentials, tuple[str, float]] = field(default_factory=dict, repr=False)

    async def token(self, credentials: ClientCredentials, timeout_s: float) -> str:
        """Return a token that is valid now. Raises CallFailed where the authorization server gives none."""
        token, ends_at = self._tokens.get(credentials, ("", 0.0))
        if not token or self.clock() >= ends_at:
            asked_at = self.clock()
            answer = await _granted(credentials, timeout_s)
            seconds = _DEFAULT_S if answer.expires_in is None else answer.expires_in
            token = answer.access_token
            self._tokens[credentials] = token, asked_at + max(0.0, seconds - _EARLY_S)
        return token

    def forget(self, credentials: Auth | None, token: str) -> bool:
        """Drop a token that a server refused. Return whether it was one of these, so that a new one may help."""
        if not isinstance(credentials, ClientCredentials):
            return False
        kept, _ = self._tokens.get(credentials, ("", 0.0))
        return kept == token and self._tokens.pop(credentials, None) is not None


async def _granted(credentials: ClientCredentials, timeout_s: float) -> _Answer:
    form = {"grant_type": "client_credentials", "scope": credentials.scope, "audience": credentials.audience}
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "Content-Type": _FORM}
    if credentials.client_auth == "post":
        form |= {"client_id": credentials.client_id, "client_secret": credentials.client_secret}
    else:  # RFC 6749, section 2.3.1: both are form-encoded first
        user, password = quote_plus(credentials.client_id), quote_plus(credentials.client_secret)
        headers["Authorization"] = basic_credentials(user, password)
    body = urlencode({name: value for name, value in form.items() if value}).encode()
    request = HttpRequest("POST", credentials.token_url, headers=headers, body=body)
    server = f"the authorization server {origin_of(credentials.token_url)}"
    try:
        answer = await send(request, Limits(timeout_s, _MAX_BYTES))
    except CallFailed as error:
        raise CallFailed(f"no token: {error}") from None
    if answer.status != 200:
        raise CallFailed(f"{server} gave no token: HTTP {answer.status}{_reason(answer.body)}")
    try:
        granted = msgspec.json.decode(answer.body, type=_Answer, strict=False)  # some write "3600"
    except (msgspec.DecodeError, RecursionError):
        raise CallFailed(f"{server} answered with no token") from None
    if granted.token_type.lower() != "bearer" or header_problem("Authorization", granted.access_token):
        raise CallFailed(f"{server} gave a token that is no bearer token")
    return granted


def _reason(body: bytes) -> str:
    """Return the error code of RFC 6749, such as `invalid_client`; nothing else, since a body may repeat a secret."""
    try:
        code = msgspec.json.decode(body, type=_Refusal).error
    except (msgspec.DecodeError, RecursionError):
        return ""
    return f" ({code})" if code.isascii() and code.replace("_", "").isalnum() and len(code) <= 40 else ""
