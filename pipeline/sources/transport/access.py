"""Resolve the settings that a source is requested with, from the environment. They are never shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import SecretStr

from pipeline.errors import RunAborted
from pipeline.settings import SourceSettings
from pipeline.settings.sources import is_web
from pipeline.settings.variables import expand, expand_url
from pipeline.sources.naming import location, secrets_of


@dataclass(frozen=True, slots=True)
class Access:
    """A source's address, headers, environment and OAuth client; no message may contain any of `secrets`."""

    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    client_id: str | None = field(default=None, repr=False)
    client_secret: str | None = field(default=None, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


def resolve_access(source: SourceSettings) -> Access:
    """Return a source's settings with their variables filled in.

    Raises RunAborted, naming each setting and variable, where some are not set, or where a value cannot be sent.
    """
    filling = _Filling(source)
    url = filling.url()
    headers = {name: filling.text(f"the header {name}", value) for name, value in source.headers.items()}
    env = {name: filling.text(f"the variable {name}", value) for name, value in source.env.items()}
    oauth = source.oauth
    client_id = filling.text("oauth.client_id", oauth.client_id) if oauth and oauth.client_id else None
    client_secret = filling.text("oauth.client_secret", oauth.client_secret) if oauth and oauth.client_secret else None
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            filling.problems.append(f"the header {name} of {location(source)!r} holds a character that cannot be sent")
    if filling.problems:
        raise RunAborted("; ".join(filling.problems))
    if url and not is_web(url):
        raise RunAborted(f"the url {location(source)!r} is no address of http or https once its variables are put in")
    return Access(url, headers, env, client_id, client_secret, (*filling.secrets, *secrets_of(url)))


class _Filling:
    """Fills in the settings of one source, and keeps what is missing and what was a secret."""

    def __init__(self, source: SourceSettings) -> None:
        self._source = source
        self.problems: list[str] = []
        self.secrets: list[str] = []

    def url(self) -> str:
        try:
            filled, values = expand_url(self._source.url or "", f"the url {location(self._source)!r}")
        except RunAborted as error:
            self.problems.append(str(error))
            return ""
        self.secrets += values
        return filled

    def text(self, what: str, value: SecretStr) -> str:
        try:
            filled, values = expand(value.get_secret_value(), f"{what} of {location(self._source)!r}")
        except RunAborted as error:
            self.problems.append(str(error))
            return ""
        # A header such as "Bearer …" is quoted as a whole, or without its first word.
        self.secrets += [filled, *values, *filled.split()]
        return filled
