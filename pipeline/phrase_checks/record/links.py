"""Find web and mail addresses in a phrase that advertise, and are no plausible detail of a request."""

import re
from collections.abc import Iterable

_ADDRESS = re.compile(
    r"\b(?P<scheme>[a-z][a-z0-9+.-]{1,9}://|www\.)(?P<host>[^\s/?#\"'<>)]+)|\b(?:javascript|data|mailto):\S+"
    r"|(?<![\w.+-])[\w.+-]++@(?P<mail>[\w-]+(?:\.[\w-]+)+)",
    re.IGNORECASE,
)
# Reserved for examples: they lead nowhere (RFC 2606).
_EXAMPLE = re.compile(r"\A(?:(?:.*\.)?example\.(?:com|org|net)|localhost)(?::\d+)?", re.IGNORECASE)
_TAKES_ADDRESSES = re.compile(
    r"\b(?:url|uri|link|href|web ?site|site|web ?page|page|domain|endpoint|web ?hook|repo|repository|browser|crawl"
    r"|scrape|address)(?:s|es)?\b",
    re.IGNORECASE,
)
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])|_")


def advertised(text: str, record_texts: Iterable[str]) -> str:
    """Return the first address of a text that advertises; else an empty text.

    An address advertises if its host is copied from the record, or if it is a web address and no text of the record
    speaks of web addresses. Models invent other addresses, as people would give them: those may stay.
    """
    if "@" not in text and ":" not in text and "www." not in text.casefold():
        return ""
    for match in _ADDRESS.finditer(text):
        host = match["host"] or match["mail"]
        if host is None:
            return match.group()
        if _EXAMPLE.fullmatch(host):
            continue
        texts = [*record_texts]
        if any(host.casefold() in other.casefold() for other in texts):
            return match.group()
        if match["host"] and not any(_TAKES_ADDRESSES.search(_HUMPS.sub(" ", other)) for other in texts):
            return match.group()
    return ""
