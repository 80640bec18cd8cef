"""What a server answers, and what its headers say: whether a body is a part, and which page follows."""

import re
from collections.abc import Mapping
from typing import NamedTuple

Address = tuple[str, Mapping[str, str]]  # and the headers that may be sent there
Page = tuple[Address, str]  # by what links to it, and the link

_RANGE = re.compile(r"\A\s*+[\w-]++ ++(\d{1,18})-(\d{1,18})/(\d{1,18}|\*)\s*+\Z")
# httpx's own reading of Link ends at a `;` or `=` within an address or a quoted text, and would lose a page.
_LINK = re.compile(r'<([^>]*+)>((?:[^,"]|"(?:[^"\\]|\\.)*+"?)*+)')
_PARAMETER = re.compile(r';\s*+([^\s=;"]++)(?:\s*+=\s*+(?:"((?:[^"\\]|\\.)*+)"?|([^\s;"]*+)))?')


class Answer(NamedTuple):
    """A whole body, the address that gave it, `at` the end of all redirects, and the `link` to the next page there."""

    content_type: str
    body: bytes
    at: Address
    link: str | None


def is_part(content_range: str) -> bool:
    """Return whether a header Content-Range names less than the whole; also an answer of 200 may have one."""
    found = _RANGE.match(content_range)
    return found is not None and (int(found[1]) > 0 or (found[3] != "*" and int(found[2]) + 1 < int(found[3])))


def next_link(link: str) -> str | None:
    """Return the target of the first link of a header Link that has the relation `next`, as it stands there."""
    for target, text in _LINK.findall(link):
        parameters = [(name.lower(), quoted or plain) for name, quoted, plain in _PARAMETER.findall(text)]
        relations = next((value for name, value in parameters if name == "rel"), "")  # only the first counts
        if "next" in relations.lower().split():
            return str(target).strip()
    return None
