"""Make the HTTP request of a call: a pure function of the operation, its arguments and the server's address.

No argument can leave its place: values are percent-encoded, headers refused where they hold anything but printable
ASCII, and a path argument that a server may read as several segments is refused.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from quartermaster.calling.errors import CallRefused
from quartermaster.calling.styles import Pair, body_of, escape, escape_reserved, expand, header_problem, is_token, pairs
from router.distribution import version
from router.operation import Operation, OperationParameter

_BRACES = re.compile(r"\{([^{}]*)\}")
_TEMPLATE_SAFE = "/:@!$&'()*+,;=-._~%"  # of the document's own path; `?` and `#` would end it
_DOTS = (".", "..")
MASK = "***"
_IGNORED = frozenset({"accept", "authorization", "content-type"})  # OpenAPI: a parameter of these names is ignored
# What servers and the gateways before them read as no claim about who calls, how, or from where.
_HARMLESS = re.compile(
    "accept-language|cache-control|content-language|if-[a-z-]+|prefer|range|traceparent|(?:x-)?idempotency-key|"
    "(?:[a-z0-9]+-)*(?:version|(?:correlation|request|trace)-id)",
    re.IGNORECASE,
)


class Parts(NamedTuple):
    """The parts of a request that settings may add to. The query and the cookies are escaped."""

    headers: Mapping[str, str] = {}
    query: tuple[Pair, ...] = ()
    cookies: tuple[Pair, ...] = ()

    def masked(self) -> "Parts":
        """Return the parts with a mask in the place of each value."""
        query, cookies = (tuple((key, MASK) for key, _ in pairs) for pairs in (self.query, self.cookies))
        return Parts(dict.fromkeys(self.headers, MASK), query, cookies)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it is sent. All but method and URL may hold secrets."""

    method: str
    url: str  # without its query
    parts: Parts = field(default=Parts(), repr=False)
    body: bytes = field(default=b"", repr=False)

    @property
    def full_url(self) -> str:
        """Return the URL with its query."""
        query = "&".join(f"{key}={value}" for key, value in self.parts.query)
        return f"{self.url}?{query}" if query else self.url

    @property
    def all_headers(self) -> dict[str, str]:
        """Return the headers with that of the cookies."""
        cookies = "; ".join(f"{key}={value}" for key, value in self.parts.cookies)
        return {**self.parts.headers, **({"Cookie": cookies} if cookies else {})}

    def with_parts(self, parts: Parts) -> "HttpRequest":
        """Return the request with more parts, each in place of one of the same name."""
        own, names = self.parts, {name.lower() for name in parts.headers}
        headers = {name: value for name, value in own.headers.items() if name.lower() not in names}
        query, cookies = _replaced(own.query, parts.query), _replaced(own.cookies, parts.cookies)
        return replace(self, parts=Parts({**headers, **parts.headers}, query, cookies))


def _replaced(old: tuple[Pair, ...], new: tuple[Pair, ...]) -> tuple[Pair, ...]:
    names = {key for key, _ in new}
    return (*(pair for pair in old if pair[0] not in names), *new)


def build_request(
    operation: Operation,
    arguments: Mapping[str, Any],
    base_url: str,
    *,
    argument_headers: Collection[str] = (),
    encoded_slashes: bool = False,
) -> HttpRequest:
    """Return the request of a call, without authentication. The options are those of `ProviderCalls`.

    Raises CallRefused where an argument is unknown, or cannot be sent where it goes.
    """
    _check(operation, arguments)
    try:
        return _built(operation, arguments, base_url, {name.lower() for name in argument_headers}, encoded_slashes)
    except RecursionError:
        raise CallRefused("the arguments are nested too deeply") from None


def _built(
    operation: Operation, arguments: Mapping[str, Any], base_url: str, allowed: Collection[str], encoded_slashes: bool
) -> HttpRequest:
    headers = {
        "Accept": "application/json, text/*;q=0.9, */*;q=0.1",
        # Compressed, a body may become a thousand times as long as what is counted.
        "Accept-Encoding": "identity",
        "User-Agent": f"quartermaster/{_version()}",  # some APIs refuse requests without one
    }
    query: list[Pair] = []
    cookies: list[Pair] = []
    in_path: dict[str, tuple[OperationParameter, Any]] = {}
    for parameter in operation.parameters:
        value = arguments.get(parameter.argument)
        if value is None:  # null is "not given": no place but a body has a form for it
            continue
        match parameter.place:
            case "query":
                query += _pairs(parameter, value)
            case "header":
                headers |= _header(parameter, value, allowed)
            case "cookie":
                cookies += _cookies(parameter, value)
            case "path":
                in_path[parameter.wire_name] = (parameter, value)
    url = base_url.rstrip("/") + _path(operation.path, in_path, encoded_slashes)
    content = b""
    if operation.body and (body := body_of(operation.body, arguments)):
        headers["Content-Type"], content = body
    return HttpRequest(operation.method, url, Parts(headers, tuple(query), tuple(cookies)), content)


_version = lru_cache(maxsize=1)(version)


def _check(operation: Operation, arguments: Mapping[str, Any]) -> None:
    body = operation.body
    known = {parameter.argument for parameter in operation.parameters}
    known |= {body.argument, *(field.argument for field in body.fields)} - {""} if body else set()
    if unknown := [str(name)[:100] for name in arguments if name not in known]:
        raise CallRefused(
            f"the operation has no argument {', '.join(unknown[:3])}; it has {', '.join(sorted(known)[:20]) or 'none'}"
        )
    try:
        json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):  # NaN, half a surrogate pair, what is no JSON at all
        raise CallRefused("the arguments cannot be written as JSON and UTF-8") from None


def _path(template: str, given: Mapping[str, tuple[OperationParameter, Any]], encoded_slashes: bool) -> str:
    """Return the path of the template, filled. Raises CallRefused where a value would lead to another path."""

    def filled(name: str) -> str:
        if name not in given:
            raise CallRefused(f"the path {template} needs {name}, which is not given")
        parameter, value = given[name]
        for text in _texts(value):
            _check_segment(name, text, encoded_slashes)
        text = expand(name, value, parameter.style, parameter.explode, escape)
        if not text:
            raise CallRefused(f"{name} is empty: the path would be another one")
        return text

    parts = _BRACES.split(template if template.startswith("/") else f"/{template}")  # text and names in turn
    path = "".join(filled(part) if place % 2 else quote(part, _TEMPLATE_SAFE) for place, part in enumerate(parts))
    if any(_decoded(segment) in _DOTS for segment in path.split("/")):
        raise CallRefused(f"the path {template} would lead to another one: an argument is . or ..")
    return path


def _check_segment(name: str, text: str, encoded_slashes: bool) -> None:
    """Raise CallRefused for a value that a server may read as several segments, or as none."""
    decoded = _decoded(text)
    if any(ord(character) < 32 or ord(character) == 127 for character in decoded):
        raise CallRefused(f"{name} holds a control character, which a path cannot have")
    segments = re.split(r"[/\\]", decoded)
    if len(segments) > 1 and (not encoded_slashes or any(segment in _DOTS for segment in segments)):
        raise CallRefused(
            f"{name} holds a slash, and many servers read it as the end of a path segment: give a value without, or "
            "set encoded_slashes = true for this provider, where its server is known to take %2F"
        )


def _decoded(text: str) -> str:
    """Return a text without percent-encoding, however often it was encoded: some servers decode twice."""
    for _ in range(5):
        decoded = unquote(text)
        if decoded == text:
            return text
        text = decoded
    raise CallRefused("an argument of the path is percent-encoded many times over")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value


def _pairs(parameter: OperationParameter, value: Any) -> list[Pair]:
    name = parameter.wire_name
    if parameter.media_type:
        return [(escape(name), escape(json.dumps(value, ensure_ascii=False, separators=(",", ":"))))]
    keeps = parameter.allow_reserved and parameter.place == "query"
    return list(pairs(name, value, parameter.style, parameter.explode, escape_reserved if keeps else escape))


def _cookies(parameter: OperationParameter, value: Any) -> list[Pair]:
    found = _pairs(parameter, value)
    if not all(is_token(key) for key, _ in found):
        raise CallRefused(f"{parameter.argument} cannot be sent in a cookie: its name is not valid there")
    return found


def _header(parameter: OperationParameter, value: Any, allowed: Collection[str]) -> dict[str, str]:
    name = parameter.wire_name
    if name.lower() in _IGNORED:
        return {}
    if parameter.media_type:
        text = json.dumps(value)
    else:
        text = expand(name, value, parameter.style, parameter.explode, lambda text: text)
    problem = header_problem(name, text)
    if not problem and name.lower() not in allowed and not _HARMLESS.fullmatch(name):
        problem = (
            f'a gateway may believe what {name} says: where yours does not, set argument_headers = ["{name}"] for this '
            "provider"
        )
    if problem:
        raise CallRefused(f"{parameter.argument} cannot be sent in a header: {problem}")
    return {name: text}
