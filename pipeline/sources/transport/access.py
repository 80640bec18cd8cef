"""Fill in the settings that a source is requested with from the environment. They are never shown."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import SecretStr

from pipeline.errors import RunAborted
from pipeline.settings import SourceSettings
from pipeline.settings.access import is_web
from pipeline.settings.variables import expand, expand_url
from pipeline.sources.naming import name_of, secrets_of


@dataclass(frozen=True, slots=True, repr=False)
class Access:
    """A source's address, headers, environment, command and OAuth client; no message may contain any of `secrets`."""

    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    client_id: str | None = None
    client_secret: str | None = None
    secrets: tuple[str, ...] = ()


def resolve_access(source: SourceSettings) -> Access:
    """Return a source's settings with their variables filled in.

    Raises RunAborted, naming each setting and variable, where some are not set, or where a value cannot be sent.
    """
    if source.client and source.client.refusal:
        raise RunAborted(f"the MCP server {source.provider!r} cannot be used: {source.client.refusal}")
    problems: list[str] = []
    secrets: list[str] = []
    where = repr(name_of(source))

    def filled(what: str, text: str, fill: Callable[[str, str], tuple[str, list[str]]] = expand) -> str:
        try:
            value, values = fill(text, f"{what} {where}")
        except RunAborted as error:
            problems.append(str(error))
            return ""
        secrets.extend(values)
        return value

    def secret(what: str, value: SecretStr) -> str:
        text = filled(f"{what} of", value.get_secret_value())
        secrets.extend([text, *text.split()])  # "Bearer …" is quoted as a whole, or without its first word
        return text

    url = filled("the url", source.url or "", expand_url)
    headers = {name: secret(f"the header {name}", value) for name, value in source.headers.items()}
    env = {name: secret(f"the variable {name}", value) for name, value in source.env.items()}
    command = source.command or ()
    if source.client:  # a catalog's own command is as it stands there
        command = tuple(filled("the command", part) for part in command)
    oauth = source.oauth
    client_id = secret("oauth.client_id", oauth.client_id) if oauth and oauth.client_id else None
    client_secret = secret("oauth.client_secret", oauth.client_secret) if oauth and oauth.client_secret else None
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            problems.append(f"the header {name} of {where} holds a character that cannot be sent")
    if problems:
        raise RunAborted("; ".join(problems))
    if url and not is_web(url):
        raise RunAborted(f"the url {where} is not an address of http or https once its variables are put in")
    return Access(url, headers, env, command, client_id, client_secret, (*secrets, *secrets_of(url)))


def write_private(path: Path, text: str) -> None:
    """Replace a file at once by one that only its user may read. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with TemporaryDirectory(dir=path.parent) as folder:
        staged = Path(folder, path.name)
        staged.touch(mode=0o600)
        staged.write_text(text, encoding="utf-8")
        os.replace(staged, path)
