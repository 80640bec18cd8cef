"""How requests of a provider are authenticated, as the settings say. Their texts show no secret."""

import base64
import html
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Literal
from urllib.parse import quote_plus

import msgspec

_SHORTEST = 4  # characters: masking "1" would mangle every answer
MASK = "***"


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
    """OAuth 2 client credentials: a token of `token_url`, which is the settings' own word and never a document's.

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
    """Return the value of `Authorization` for a user and a password."""
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def secrets_of(auth: Auth | None) -> Iterator[str]:
    """Yield the secrets of an authentication, in the forms in which a server may repeat them."""
    match auth:
        case Bearer(token=secret) | ApiKey(value=secret):
            yield secret
        case Basic():
            yield auth.password
            yield basic_credentials(auth.username, auth.password).removeprefix("Basic ")
        case ClientCredentials():
            yield auth.client_secret
            yield basic_credentials(quote_plus(auth.client_id), quote_plus(auth.client_secret)).removeprefix("Basic ")


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
