"""Which headers and cookies a request may carry, so that no argument adds another or changes how it is read."""

import re

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
# They frame the request, or say who sends it: a value of a document or a model would change what is sent where.
_RESERVED = frozenset(
    "connection content-length cookie expect forwarded host keep-alive set-cookie te trailer transfer-encoding upgrade "
    "via x-http-method x-http-method-override x-method-override x-original-url x-real-ip x-rewrite-url".split()
)
# OpenAPI: a parameter of these names is ignored.
IGNORED = frozenset({"accept", "authorization", "content-type"})


def is_token(name: str) -> bool:
    """Return whether a text may be the name of a header or a cookie."""
    return _TOKEN.fullmatch(name) is not None


def header_problem(name: str, value: str) -> str:
    """Return why a header cannot be sent, without its value; empty where it can."""
    if not is_token(name):
        return "it is no name of a header"
    if name.lower() in _RESERVED or name.lower().startswith(("proxy-", "x-forwarded-")):
        return "this header is the client's own: it cannot be set"
    if not value.isascii() or not value.isprintable():
        return "a header holds no line breaks, control characters or characters outside of ASCII"
    if value != value.strip():
        return "a header's value begins and ends with no space"
    return ""
