"""Name sources, and what is wrong with them, in messages and origins without arguments, users, queries or secrets."""

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, urlsplit, urlunsplit

from pydantic import ValidationError

from pipeline.errors import RunAborted, Unavailable
from pipeline.settings import LimitsSettings, SourceSettings
from pipeline.sources.command_label import label_of_command
from quartermaster.validation import describe_requirement

_MAX_SAID = 300
_SHORTEST = 4  # shorter secrets are part of ordinary words
# A terminal's sequences as a whole, then control characters one by one.
_UNPRINTABLE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def location(source: SourceSettings) -> str:
    """Return a source's module, its program, or its URL as written but without user and query."""
    if source.url is None:
        return source.python or (source.command or ("",))[0]
    return urlunsplit(without_user(source.url)._replace(query="", fragment=""))


def without_user(url: str) -> SplitResult:
    """Return the parts of a URL without user and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2])


def name_of(source: SourceSettings) -> str:
    """Return a source's name in messages: its path as written, its URL, or what tells its command from others.

    That is its provider where it has one: many commands are one program's. So is that of a server of a client's file.
    """
    if source.python is not None:
        return source.python
    if source.client or (source.command and source.provider):
        return source.provider or ""
    if source.path is not None:
        return str(source.path)
    return location(source) if source.command is None else label_of_command(source.command)


def label_of(source: SourceSettings) -> str:
    """Return a short name for progress and tasks."""
    if source.url is not None and source.provider is None:
        return urlsplit(source.url).hostname or "url"
    return source.provider or Path(name_of(source)).name


def origin_of(source: SourceSettings) -> str:
    """Return the file that the origins of a source's tools name: a path below the catalog's folder, else a name."""
    if source.path is None:
        return location(source)
    return source.path.name if source.path.is_absolute() else source.path.as_posix()


def subject(source: SourceSettings) -> str:
    """Return the source as the subject of a sentence."""
    kind = "Python source" if source.python else "url" if source.command is None else "command"
    return f"the {kind} {name_of(source)!r}"


def redacted(text: str, source: SourceSettings, secrets: Iterable[str] = ()) -> str:
    """Return the output of a program or server as one short line, without control characters or secrets.

    `secrets` are those beside the source's own: the values that the environment filled in.
    """
    hidden = [*secrets, *(() if source.python else source.command or ())[1:], *secrets_of(source.url or "")]
    hidden += [value for secret in hidden if (value := secret.partition("=")[2])]
    for secret in sorted(hidden, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, "…")
    text = _UNPRINTABLE.sub(" ", text).strip()
    return text if len(text) <= _MAX_SAID else f"{text[:_MAX_SAID]}…"


def secrets_of(url: str) -> list[str]:
    """Return the parts of a URL that may be secrets: user, password, query and fragment."""
    parts = urlsplit(url)
    values = [value for _, value in parse_qsl(parts.query)]
    return [parts.username or "", parts.password or "", parts.query, parts.fragment, *values]


def too_large(source: SourceSettings, limits: LimitsSettings) -> RunAborted:
    """Return the error for a document that is larger than the limit."""
    return RunAborted(f"{subject(source)} gave more than the {limits.document_bytes:,} bytes of limits.document_bytes")


def too_late(source: SourceSettings) -> Unavailable:
    """Return the error for a source that takes too long."""
    return Unavailable(f"{subject(source)} took more than the {source.timeout_s:g} s that timeout_s allows")


def wrong_field(error: ValidationError) -> str:
    """Return the first field of an answer that is wrong, and what it must be, without a validator's own words."""
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(map(str, first["loc"])) or "it"
    return f"{field} {describe_requirement(first['type'], first.get('ctx'), table='an object')}"
