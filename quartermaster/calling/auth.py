"""How requests of a provider are authenticated: the settings, whose texts show no secret, OAuth tokens, and masking."""

import base64
import html
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal
from urllib.parse import quote_plus, urlencode

import msgspec

from quartermaster.calling.errors import CallFailed
from quartermaster.calling.requests import MASK, HttpRequest, Parts
from quartermaster.calling.sending import origin_of, send
from quartermaster.calling.styles import header_problem

_SHORTEST = 4  # characters of a secret that is masked: masking "1" would mangle every answer
_MAX_BYTES = 65_536
_EARLY_S = 30.0  # a token is not used in its last seconds: it might end on the way
_DEFAULT_S = 300.0  # of a token without a stated end
_FORM = "application/x-www-form-urlencoded"


class _Secret(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    def __repr__(self) -> str:
        return f"{type(self).__name__}({MASK})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Return no field: rich's tracebacks show what msgspec would list here."""
        return []


class Bearer(_Secret, frozen=True, tag="bearer"):
    """A token in the header `Authorization`."""

    token: str


class Basic(_Secret, frozen=True, tag="basic"):
    """A user and a password in the header `Authorization`."""

    username: str
    password: str


class ApiKey(_Secret, frozen=True, tag="api_key"):
    """A key in a header, a query parameter or a cookie of a name."""

    name: str
    value: str
    place: Literal["header", "query", "cookie"] = msgspec.field(default="header", name="in")


class ClientCredentials(_Secret, frozen=True, tag="client_credentials"):
    """OAuth 2 client credentials: a token of `token_url`, which comes from the settings and never from a document.

    `client_auth` says how the client names itself there: by the header ("basic") or in the form ("post").
    """

    token_url: str
    client_id: str
    client_secret: str
    scope: str = ""
    audience: str = ""
    client_auth: Literal["basic", "post"] = "basic"


Auth = Bearer | Basic | ApiKey | ClientCredentials


def basic_credentials(username: str, password: str) -> str:
    """Return a user and a password as `Authorization` holds them behind the word Basic."""
    return base64.b64encode(f"{username}:{password}".encode()).decode()


def secrets_of(auth: Auth | None) -> Iterator[str]:
    """Yield the secrets of an authentication, in the forms in which a server may repeat them."""
    match auth:
        case Bearer(token=secret) | ApiKey(value=secret):
            yield secret
        case Basic():
            yield from (auth.password, basic_credentials(auth.username, auth.password))
        case ClientCredentials():
            yield from (auth.client_secret, _client_credentials(auth))


def masked(text: str, secrets: Iterable[str]) -> str:
    """Return a text in which secrets of four characters or more are hidden, also as JSON, URLs and HTML write them."""
    long_enough = sorted({secret for secret in secrets if len(secret) >= _SHORTEST}, key=len, reverse=True)
    for secret in long_enough:
        text = re.sub("".join(map(_written, secret)), MASK, text)
    return text


@lru_cache(maxsize=4096)
def _written(character: str) -> str:
    """Return a pattern of all ways in which a server's encoder may write a character."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    as_json = "".join(rf"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))
    as_url = "".join(f"%{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
    as_html = f"&#0*{ord(character)};|&#x0*{ord(character):x};"
    named = re.escape(html.escape(character))
    plus = r"|\+" if character == " " else ""
    return rf"(?:\\?{re.escape(character)}|(?i:{as_json}|{as_url}|{as_html})|{named}{plus})"


@dataclass
class TokenCache:
    """The OAuth tokens that were granted, by credentials. It belongs to one process and is written nowhere."""

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


class _Grant(msgspec.Struct):
    access_token: str = ""
    token_type: str = "Bearer"  # noqa: S105 - no secret
    expires_in: float | None = None
    error: str = ""


async def _granted(credentials: ClientCredentials, timeout_s: float) -> _Grant:
    form = {"grant_type": "client_credentials", "scope": credentials.scope, "audience": credentials.audience}
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "Content-Type": _FORM}
    if credentials.client_auth == "post":
        form |= {"client_id": credentials.client_id, "client_secret": credentials.client_secret}
    else:
        headers["Authorization"] = f"Basic {_client_credentials(credentials)}"
    body = urlencode({name: value for name, value in form.items() if value}).encode()
    request = HttpRequest("POST", credentials.token_url, Parts(headers), body)
    server = f"the authorization server {origin_of(credentials.token_url)}"
    try:
        answer = await send(request, timeout_s=timeout_s, max_bytes=_MAX_BYTES)
    except CallFailed as error:
        raise CallFailed(f"no token: {error}") from None
    try:
        granted = msgspec.json.decode(answer.body, type=_Grant, strict=False)  # some write "3600"
    except (ValueError, RecursionError):
        granted = _Grant()
    if answer.status != 200:
        # The code of RFC 6749, such as `invalid_client`; nothing else, since a body may repeat a secret.
        code = f" ({granted.error})" if re.fullmatch(r"[A-Za-z0-9_]{1,40}", granted.error) else ""
        raise CallFailed(f"{server} gave no token: HTTP {answer.status}{code}")
    if not granted.access_token:
        raise CallFailed(f"{server} answered with no token")
    if granted.token_type.lower() != "bearer" or header_problem("Authorization", granted.access_token):
        raise CallFailed(f"{server} gave a token that is not a bearer token")
    return granted


def _client_credentials(auth: ClientCredentials) -> str:
    return basic_credentials(quote_plus(auth.client_id), quote_plus(auth.client_secret))  # RFC 6749, section 2.3.1
