"""`${VARIABLE}` in a setting is replaced from the environment when a source is read: no file needs to hold a secret."""

import os
import re
from collections.abc import Mapping
from urllib.parse import quote

from pipeline.errors import RunAborted

# `$${` stands for a `${` that is meant as it is.
_REFERENCE = re.compile(r"\$(?:\$(?=\{)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_BROKEN = re.compile(r"(?<!\$)\$\{(?![A-Za-z_][A-Za-z0-9_]*\})")


def check(text: str) -> str:
    """Return the text. Raises ValueError where a `${` names no variable."""
    if _BROKEN.search(text):
        raise ValueError("'${' must be followed by the name of a variable and '}'; for '${' itself write '$${'")
    return text


def has_variables(text: str) -> bool:
    """Return whether the environment fills in a part of the text."""
    return any(match[1] for match in _REFERENCE.finditer(text))


def stand_in(text: str) -> str:
    """Return the text with "1" for each variable, which can stand for a host, a port or a path."""
    return _REFERENCE.sub(lambda match: "1" if match[1] else "$", text)


def expand(text: str, what: str, environment: Mapping[str, str] | None = None) -> tuple[str, list[str]]:
    """Return the text with its variables put in, and their values, which may be secrets.

    Raises RunAborted, naming `what` the text is and the variable, where one is not set.
    """
    values: list[str] = []

    def put_in(match: re.Match[str]) -> str:
        if match[1] is None:
            return "$"
        values.append(value_of(match[1], what, environment))
        return values[-1]

    return _REFERENCE.sub(put_in, text), values


def expand_url(url: str, what: str, environment: Mapping[str, str] | None = None) -> tuple[str, list[str]]:
    """Return a URL with its variables put in, and their values, as `expand` does.

    Values in the path, the query, the user and the password are quoted, so that none can change the host.
    """
    values: list[str] = []
    begin = url.find("://") + 3 if "://" in url else 0
    end = next((position for position in range(begin, len(url)) if url[position] in "/?#"), len(url))
    host = begin + url[begin:end].rfind("@") + 1

    def put_in(match: re.Match[str]) -> str:
        if match[1] is None:
            return "$"
        value = value_of(match[1], what, environment)
        quoted = quote(value, safe="")
        values.extend({value, quoted})
        # Only the scheme, the host and the port take a value unquoted.
        return value if match.start() < begin or host <= match.start() < end else quoted

    return _REFERENCE.sub(put_in, url), values


def value_of(name: str, what: str, environment: Mapping[str, str] | None = None) -> str:
    """Return a variable's value, without the newline that a file of secrets ends with.

    Raises RunAborted where it is not set, or empty: it was most likely forgotten.
    """
    value = (os.environ if environment is None else environment).get(name, "").strip()
    if not value:
        raise RunAborted(f"{what} needs the environment variable {name}, which is not set or empty")
    return value
