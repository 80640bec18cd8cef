"""`${VARIABLE}` in a setting is replaced from the environment when a source is read: no file needs to hold a secret.

`${VARIABLE:-default}` is the default where the variable is not set or empty.
"""

import os
import re
from collections.abc import Callable, Mapping
from urllib.parse import quote

from pipeline.errors import RunAborted

# `$${` stands for a `${` that is meant as it is.
_NAME = r"[A-Za-z_][A-Za-z0-9_]*+"
_REFERENCE = re.compile(rf"\$(?:\$(?=\{{)|\{{({_NAME})(?::-([^{{}}]*))?\}})")
_BROKEN = re.compile(rf"(?<!\$)\$\{{(?!{_NAME}(?::-[^{{}}]*)?\}})")


def check(text: str) -> str:
    """Return the text. Raises ValueError where a `${` names no variable."""
    if _BROKEN.search(text):
        raise ValueError("'${' must be followed by the name of a variable and '}'; for '${' itself write '$${'")
    return text


def names(text: str) -> list[str]:
    """Return the variables that a text takes."""
    return [match[1] for match in _REFERENCE.finditer(text) if match[1]]


def stand_in(text: str) -> str:
    """Return the text with "1" for each variable, which can stand for a host, a port or a path."""
    return _REFERENCE.sub(lambda match: "1" if match[1] else "$", text)


def expand(text: str, what: str, environment: Mapping[str, str] | None = None) -> tuple[str, list[str]]:
    """Return the text with its variables put in, and their values, which may be secrets.

    Raises RunAborted, naming `what` the text is and the variable, where one is not set.
    """
    return _filled(text, what, environment, lambda _: False)


def expand_url(url: str, what: str, environment: Mapping[str, str] | None = None) -> tuple[str, list[str]]:
    """Return a URL with its variables put in, and their values, as `expand` does.

    Values in the path, the query, the user and the password are quoted, so that none can change the host: only the
    scheme, the host and the port take a value as it is.
    """
    begin, host, end = _places(url)
    return _filled(url, what, environment, lambda place: begin <= place < host or place >= end)


def origin(url: str) -> str:
    """Return the scheme, host and port of a URL: as written, so that variables among them are not filled in."""
    begin, host, end = _places(url)
    found = f"{url[:begin]}{url[host:end]}"
    found = found if names(found) else found.lower()
    return found.removesuffix({"http://": ":80", "https://": ":443"}.get(url[:begin].lower(), "\0"))


def _places(url: str) -> tuple[int, int, int]:
    """Return where what follows the scheme begins in a URL, where the host does, and where the path does."""
    plain = _REFERENCE.sub(lambda match: "x" * len(match[0]), url)  # a default may hold an address of its own
    begin = plain.find("://") + 3 if "://" in plain else 0
    end = next((position for position in range(begin, len(plain)) if plain[position] in "/?#"), len(plain))
    return begin, begin + plain[begin:end].rfind("@") + 1, end


def _filled(
    text: str, what: str, environment: Mapping[str, str] | None, is_quoted: Callable[[int], bool]
) -> tuple[str, list[str]]:
    values: dict[str, None] = {}

    def put_in(match: re.Match[str]) -> str:
        if match[1] is None:
            return "$"
        # Without the newline that a file of secrets ends with; an empty value was most likely forgotten.
        value = (os.environ if environment is None else environment).get(match[1], "").strip()
        if not value and match[2] is not None:
            return match[2]
        if not value:
            raise RunAborted(f"{what} needs the environment variable {match[1]}, which is not set or empty")
        written = quote(value, safe="") if is_quoted(match.start()) else value
        values.update(dict.fromkeys((value, written)))
        return written

    return _REFERENCE.sub(put_in, text), list(values)
