"""Read how the operations of an OpenAPI or Swagger document are called: servers, security, styles of parameters.

Nothing here rejects an operation: a tool whose call cannot be read is found all the same.
"""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pipeline.sources.formats.openapi_responses import JSON_MEDIA
from router.operation import BodyField, OperationParameter, Place, SecurityScheme, Style
from router.tools.definitions.rows import Steps, follow

# Each is far above what documents have. An operation repeats its document's servers and schemes in every record.
_MAX_SERVERS, _MAX_SERVER, _MAX_VARIABLES = 5, 500, 20
_MAX_ALTERNATIVES, _MAX_SCHEMES, _MAX_TEXT = 10, 10, 300
_MAX_STEPS = 100_000  # of following references to security schemes, of all operations together
_STYLES: Mapping[Place, tuple[Style, ...]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form", "cookie"),
}
_COLLECTIONS: Mapping[str, Style] = {"ssv": "spaceDelimited", "tsv": "tabDelimited", "pipes": "pipeDelimited"}


class CallReader:
    """Reads what a document says of calls, for all of its operations."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self.is_swagger = "swagger" in document and "openapi" not in document
        self._steps = Steps(_MAX_STEPS)
        self._known: dict[str, SecurityScheme | None] = {}
        self._own_servers = tuple(self._servers(document, document))

    def servers(self, item: Mapping[str, Any], operation: Mapping[str, Any]) -> tuple[tuple[str, ...], bool]:
        """Return the servers of an operation, and whether they are not the document's."""
        keys = ("schemes",) if self.is_swagger else ("servers",)
        for row in (operation, item):
            if any(row.get(key) for key in keys):
                own = tuple(self._servers(row, self._document))
                # Swagger's operations choose a scheme; the host stays the document's.
                return own, not self.is_swagger and own != self._own_servers
        return self._own_servers, False

    def security(self, operation: Mapping[str, Any]) -> tuple[tuple[tuple[str, ...], ...], tuple[SecurityScheme, ...]]:
        """Return the alternatives of an operation's security, and the schemes that they name."""
        listed = operation.get("security", self._document.get("security"))
        kept: list[tuple[str, ...]] = []
        schemes: dict[str, SecurityScheme] = {}
        for alternative in listed[:_MAX_ALTERNATIVES] if isinstance(listed, list) else ():
            keys = list(map(str, alternative)) if isinstance(alternative, Mapping) else None
            if keys is None or len(keys) > _MAX_SCHEMES:
                continue
            found = {key: scheme for key in keys if (scheme := self._scheme(key))}
            if len(found) == len(keys) and len(schemes | found) <= _MAX_SCHEMES:
                kept.append(tuple(keys))
                schemes |= found
        return tuple(kept), tuple(schemes.values())

    def media_types(self, operation: Mapping[str, Any]) -> list[str]:
        """Return the media types that a Swagger operation accepts."""
        listed = operation.get("consumes") or self._document.get("consumes")
        return [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []

    def _servers(self, row: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
        if self.is_swagger:
            yield from _swagger_servers(row, document)
            return
        listed = row.get("servers")
        for server in listed[:_MAX_SERVERS] if isinstance(listed, list) else ():
            url = _resolved(server) if isinstance(server, Mapping) else None
            if url and len(url) <= _MAX_SERVER:
                yield url

    def _scheme(self, key: str) -> SecurityScheme | None:
        if key not in self._known:
            self._known[key] = self._read_scheme(key)
        return self._known[key]

    def _read_scheme(self, key: str) -> SecurityScheme | None:
        components = self._document.get("components")
        inside = components.get("securitySchemes") if isinstance(components, Mapping) else None
        schemes = self._document.get("securityDefinitions") if self.is_swagger else inside
        if not isinstance(schemes, Mapping) or len(key) > _MAX_TEXT:
            return None
        scheme, _ = follow(schemes.get(key), self._document, self._steps)
        if not isinstance(scheme, Mapping):
            return None
        return SecurityScheme(
            key,
            type=_text(scheme.get("type")),
            name=_text(scheme.get("name")),
            place=_text(scheme.get("in")),
            scheme=_text(scheme.get("scheme")).lower(),
            token_url=_token_url(scheme),
        )


def placed(argument: str, parameter: Mapping[str, Any], *, is_swagger: bool) -> OperationParameter | None:
    """Return where a parameter goes; None where the document names no such place."""
    place: Place = parameter.get("in")  # type: ignore[assignment]
    if place not in get_args(Place):
        return None
    name = "" if parameter["name"] == argument else parameter["name"]
    style, explode = _collection(parameter, place) if is_swagger else _style(parameter, place)
    content = parameter.get("content")
    return OperationParameter(
        argument,
        place,
        name,
        style,
        explode,
        allow_reserved=parameter.get("allowReserved") is True,
        media_type=_text(next(iter(content))) if isinstance(content, Mapping) and content else "",
    )


def form_field(argument: str, parameter: Mapping[str, Any]) -> BodyField:
    """Return a Swagger `formData` parameter as a field of the body."""
    name = "" if parameter["name"] == argument else parameter["name"]
    style, explode = _collection(parameter, "query")
    return BodyField(argument, name, style, explode, is_file=parameter.get("type") == "file")


def body_field(name: str, schema: Any, encoding: Any) -> BodyField:
    """Return a property of a body that is an argument of its own. `encoding` is the document's word on forms."""
    row = encoding if isinstance(encoding, Mapping) else {}
    declares = any(key in row for key in ("style", "explode", "allowReserved"))
    style, explode = _style(row, "query") if declares else (None, False)
    return BodyField(
        name, "", style or "", explode, _text(row.get("contentType")).split(",")[0].strip(), _is_file(schema)
    )


def preferred_media(media_types: list[str]) -> str:
    """Return JSON where it is offered, else the first media type; empty for none."""
    return next((one for one in media_types if JSON_MEDIA.match(one)), media_types[0] if media_types else "")


def _is_file(schema: Any) -> bool:
    """Return whether a property of a multipart form is a file: OpenAPI 3.0's `binary`, 3.1's `contentMediaType`."""
    if not isinstance(schema, Mapping):
        return False
    one = schema.get("items", schema) if schema.get("type") == "array" else schema
    return isinstance(one, Mapping) and (one.get("format") == "binary" or "contentMediaType" in one)


def _style(row: Mapping[str, Any], place: Place) -> tuple[Style, bool]:
    styles = _STYLES[place]
    style = next((style for style in styles if style == row.get("style")), styles[0])
    explode = row.get("explode")
    return style, explode if isinstance(explode, bool) else style in ("form", "cookie", "deepObject")


def _collection(parameter: Mapping[str, Any], place: Place) -> tuple[Style, bool]:
    """Return the style that means the same as Swagger's `collectionFormat`, which is "csv" unless it is given."""
    given = parameter.get("collectionFormat")
    plain: Style = "form" if place in ("query", "cookie") else "simple"
    if given == "multi" and place == "query":
        return "form", True
    return (_COLLECTIONS.get(given, plain) if isinstance(given, str) else plain), False


def _swagger_servers(row: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    base, host = _text(document.get("basePath")), _text(document.get("host"))
    listed = row.get("schemes")
    schemes = [scheme for scheme in ("https", "http") if isinstance(listed, list) and scheme in listed] or ["https"]
    if not host:
        yield from [base] if base else []
        return
    yield from (f"{scheme}://{host}{base}" for scheme in schemes)


def _resolved(server: Mapping[str, Any]) -> str | None:
    """Return the URL of a server with the defaults of its variables; None where one has none."""
    url = _text(server.get("url"), _MAX_SERVER)
    variables = server.get("variables")
    rows = list(variables.items())[:_MAX_VARIABLES] if isinstance(variables, Mapping) else []
    for name, variable in rows:
        default = variable.get("default") if isinstance(variable, Mapping) else None
        if isinstance(default, str | int) and len(url) <= _MAX_SERVER:
            url = url.replace("{" + str(name) + "}", str(default)[:_MAX_SERVER])
    return None if "{" in url else url


def _token_url(scheme: Mapping[str, Any]) -> str:
    flows = scheme.get("flows")
    rows = [row for row in flows.values() if isinstance(row, Mapping)] if isinstance(flows, Mapping) else []
    client = flows.get("clientCredentials") if isinstance(flows, Mapping) else None
    first = [client] if isinstance(client, Mapping) else []
    return next((_text(row.get("tokenUrl")) for row in [*first, *rows, scheme] if row.get("tokenUrl")), "")


def _text(value: Any, most: int = _MAX_TEXT) -> str:
    """Return a text of the document; empty where it is none, or longer than any real one."""
    return value if isinstance(value, str) and len(value) <= most else ""
