"""The secrets of a catalog's settings: what no log, metric or hook may show."""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, SecretStr

from pipeline.errors import RunAborted
from pipeline.settings import CatalogSettings, NotifySettings
from pipeline.settings.variables import expand, expand_url

_WORDS = re.compile(r"\s+")


def secrets_of(settings: CatalogSettings) -> frozenset[str]:
    """Return every value of the settings that may be a secret, as it is sent.

    They are all values of secret fields, what the environment fills in, the user, password and query of each address,
    and the path of the hook's.
    """
    return frozenset(secret for secret in (*_found(settings), *hook_secrets(settings.notify)) if secret)


def hook_secrets(notify: NotifySettings) -> frozenset[str]:
    """Return the secrets of the hook.

    They include its address but for the host: many webhooks have a token in the path.
    """
    if notify.url is None:
        return frozenset(_found(notify))
    try:
        url, _ = expand_url(notify.url, "notify.url")
        parts = urlsplit(url)
    except (RunAborted, ValueError):
        return frozenset(_found(notify))
    return frozenset((*_found(notify), parts.path if len(parts.path) > 1 else "", parts.query, url)) - {""}


def _found(value: Any, name: str = "") -> Iterator[str]:
    """Yield the secrets in a value of the settings, whose field has this name."""
    if isinstance(value, SecretStr):
        yield from _sent(value.get_secret_value())
    elif isinstance(value, BaseModel):
        for field, inner in value:
            yield from _found(inner, field)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _found(inner, name)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _found(inner, name)
    elif isinstance(value, str) and name in ("url", "base_url"):
        yield from _of_url(value)


def _sent(text: str) -> Iterator[str]:
    """Yield a secret text, the values in it, and its words: "Bearer …" may be quoted without the first."""
    values: list[str] = []
    with suppress(RunAborted):  # it is not set: there is nothing to hide
        text, values = expand(text, "a secret")
    yield from (text, *values, *(word for word in _WORDS.split(text) if len(word) > len("Bearer")))


def _of_url(url: str) -> Iterator[str]:
    with suppress(RunAborted):
        url, values = expand_url(url, "an address")
        yield from values
    with suppress(ValueError):
        parts = urlsplit(url)
        yield from (parts.password or "", parts.query, *(value for _, value in parse_qsl(parts.query)))
