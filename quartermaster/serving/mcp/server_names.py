"""Names and URIs of upstreams' prompts and resources, made unique by their server, and mapped back exactly.

    >>> unique_uri("git", "file:///a b/{path}")
    'quartermaster:git/file:///a b/{path}'
    >>> split_uri("quartermaster:git/file:///a b/{path}")
    ('git', 'file:///a b/{path}')

The server's own URI follows unchanged: a client expands a template in place.
"""

from urllib.parse import quote, unquote

_SCHEME = "quartermaster:"


def unique_name(server: str, name: str) -> str:
    """Return the name of a server's prompt, such as "git/review"."""
    return f"{quote(server, safe='')}/{name}"


def split_name(name: str) -> tuple[str, str] | None:
    """Return the server and its own name of a prompt; None where it names no server."""
    server, slash, own = name.partition("/")
    return (unquote(server), own) if slash and server else None


def unique_uri(server: str, uri: str) -> str:
    """Return the URI of a server's resource, or of a template."""
    return f"{_SCHEME}{unique_name(server, uri)}"


def split_uri(uri: str) -> tuple[str, str] | None:
    """Return the server and its own URI of a resource; None where it is no URI of `unique_uri`."""
    return split_name(uri.removeprefix(_SCHEME)) if uri.startswith(_SCHEME) else None
