"""How requests of a provider are authenticated, as the settings say. Their texts show no secret."""

import base64
import json
from collections.abc import Iterator
from typing import Literal
from urllib.parse import quote, quote_plus

import msgspec

_SHORTEST = 4  # characters: masking "1" would mangle every answer
MASK = "***"


class _Secret(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    def __repr__(self) -> str:
        return f"{type(self).__name__}({MASK})"


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


def masked(text: str, secrets: Iterator[str] | list[str]) -> str:
    """Return a text in which secrets of four characters or more are hidden, also as JSON and URLs write them."""
    forms = {form for secret in secrets for form in (secret, json.dumps(secret)[1:-1], quote(secret, safe=""))}
    for form in sorted(forms, key=len, reverse=True):
        if len(form) >= _SHORTEST:
            text = text.replace(form, MASK)
    return text
