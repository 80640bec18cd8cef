"""Read what an OpenAPI or Swagger document says of its operations beside their schemas: servers, security, answers.

Nothing here rejects an operation: a tool whose call or answer cannot be read is still found.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any

from pipeline.sources.formats.json_schema import mapping
from pipeline.sources.formats.openapi_files import as_written
from router.operation import SecurityScheme
from router.record import Link, Parameter
from router.tools.definitions.json_values import unescape_pointer_part
from router.tools.definitions.raw_tool import RawTool
from router.tools.definitions.rows import MAX_STEPS, Steps, follow, output_rows

JSON_MEDIA = re.compile(r"^application/(?:[\w.+-]+\+)?json\b", re.IGNORECASE)
_ANY_MEDIA = ("*/*", "application/*")
# Each is far above what documents have. An operation repeats its document's servers and schemes in every record.
_MAX_SERVERS, _MAX_SERVER, _MAX_VARIABLES = 5, 500, 20
_MAX_ALTERNATIVES, _MAX_SCHEMES, _MAX_TEXT = 10, 10, 300
# Of all operations together, some 10 s: operations share schemas, so that a document could be read many times over.
_MAX_STEPS = 1_000_000
_MAX_RESPONSES = 20  # of an operation, and links of a response
_MAX_LINKS = 50  # of an operation
_MAX_LOST = 5  # links of an operation that lead nowhere, named in notices
_MAX_NAME = 500  # characters of a parameter, a tool or an expression
_PLACE = re.compile(r"^(?:path|query|header|cookie)\.")
_EXPRESSION = re.compile(r"\$(?:response|request)\.")
_OPERATION = re.compile(r"^#/paths/([^/]+)/([^/]+)$")


class ApiDocument:
    """What a document says of all its operations. What many of them refer to is read once.

    `names` are those of the operations' tools, by path and method.
    """

    def __init__(self, document: Mapping[str, Any], names: Mapping[tuple[str, str], str]) -> None:
        self._document = document
        self.names, self._known = names, frozenset(names.values())
        self.is_swagger = "swagger" in document and "openapi" not in document
        self._steps = Steps(_MAX_STEPS)
        self._scheme = cache(self._read_scheme)
        self._rows: dict[str, tuple[Parameter, ...]] = {}  # by reference
        self._own_servers = tuple(self._servers(document))

    def servers(self, item: Mapping[str, Any], operation: Mapping[str, Any]) -> tuple[tuple[str, ...], bool]:
        """Return the servers of an operation, and whether they are not the document's."""
        for row in (operation, item):
            if row.get("schemes" if self.is_swagger else "servers"):
                own = tuple(self._servers(row))
                # Swagger's operations choose a scheme; the host stays the document's.
                return own, not self.is_swagger and own != self._own_servers
        return self._own_servers, False

    def security(self, operation: Mapping[str, Any]) -> tuple[tuple[tuple[str, ...], ...], tuple[SecurityScheme, ...]]:
        """Return the alternatives of an operation's security, and the schemes that they name."""
        listed = operation.get("security", self._document.get("security"))
        kept: list[tuple[str, ...]] = []
        schemes: dict[str, SecurityScheme] = {}
        for alternative in listed[:_MAX_ALTERNATIVES] if isinstance(listed, list) else ():
            if not isinstance(alternative, Mapping) or len(alternative) > _MAX_SCHEMES:
                continue
            keys = tuple(map(str, alternative))
            found = {key: scheme for key in keys if (scheme := self._scheme(key))}
            if len(found) == len(keys) and len(schemes | found) <= _MAX_SCHEMES:
                kept.append(keys)
                schemes |= found
        return tuple(kept), tuple(schemes.values())

    def media_types(self, operation: Mapping[str, Any]) -> list[str]:
        """Return the media types that a Swagger operation accepts."""
        listed = operation.get("consumes") or self._document.get("consumes")
        return [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []

    def _servers(self, row: Mapping[str, Any]) -> Iterator[str]:
        if not self.is_swagger:
            listed = row.get("servers")
            urls = map(_server, listed[:_MAX_SERVERS] if isinstance(listed, list) else ())
            yield from (url for url in urls if url and len(url) <= _MAX_SERVER)
            return
        host, base = text_of(self._document.get("host")), text_of(self._document.get("basePath"))
        listed = row.get("schemes")
        schemes = [scheme for scheme in ("https", "http") if isinstance(listed, list) and scheme in listed] or ["https"]
        if host:
            yield from (f"{scheme}://{host}{base}" for scheme in schemes)
        elif base:
            yield base

    def _read_scheme(self, key: str) -> SecurityScheme | None:
        inside = mapping(self._document.get("components")).get("securitySchemes")
        schemes = mapping(self._document.get("securityDefinitions") if self.is_swagger else inside)
        scheme, _ = follow(schemes.get(key), self._document, self._steps)
        if not isinstance(scheme, Mapping) or len(key) > _MAX_TEXT:
            return None
        flows = mapping(scheme.get("flows"))
        givers = map(mapping, (flows.get("clientCredentials"), *flows.values(), scheme))
        return SecurityScheme(
            key,
            type=text_of(scheme.get("type")),
            name=text_of(scheme.get("name")),
            place=text_of(scheme.get("in")),
            scheme=text_of(scheme.get("scheme")).lower(),
            token_url=next((text_of(row["tokenUrl"]) for row in givers if row.get("tokenUrl")), ""),
        )

    def with_answer(self, tool: RawTool, operation: Mapping[str, Any]) -> RawTool:
        """Return an operation's tool with what it answers and what its answer links to."""
        allowed = min(MAX_STEPS, self._steps.left)
        steps = Steps(allowed)
        away: dict[str, None] = {}
        responses = list(self._good(operation, steps, away))
        outputs = next(filter(None, (self._outputs(_schema(one), steps) for one in responses)), ())
        links: dict[Link, None] = {}
        lost: dict[str, None] = {}
        for response in responses:
            for name, link in _items(response.get("links")):
                if len(links) >= _MAX_LINKS or not steps.take():
                    continue
                link, _ = follow(link, self._document, steps)
                if (target := self._target(mapping(link))) is not None:
                    links |= dict.fromkeys(_links(target, link.get("parameters")))
                elif isinstance(link, Mapping):
                    lost[name[:100]] = None
        self._steps.left -= allowed - max(steps.left, 0)
        notices = [f"{name[:200]} of its answer cannot be read: left open" for name in islice(away, _MAX_LOST)]
        notices += [f"its link {name} leads to no operation of the document" for name in islice(lost, _MAX_LOST)]
        kept = tuple(islice(links, _MAX_LINKS))
        return replace(tool, outputs=outputs, links=kept, notices=(*tool.notices, *notices))

    def _good(self, operation: Mapping[str, Any], steps: Steps, away: dict[str, None]) -> Iterator[Mapping[str, Any]]:
        """Yield the responses of an operation that mean success, the default one last. Add files not read to `away`."""
        listed = dict(_items(operation.get("responses")))
        for status in (*(status for status in listed if status.startswith("2")), "default"):
            response, _ = follow(listed.get(status), self._document, steps)
            for one in (listed.get(status), _schema(mapping(response))):
                reference = text_of(mapping(one).get("$ref"), _MAX_NAME)
                if (name := as_written(reference)) != reference and follow(one, self._document, steps)[0] is None:
                    away[name] = None
            if isinstance(response, Mapping):
                yield response

    def _outputs(self, schema: Any, steps: Steps) -> tuple[Parameter, ...]:
        reference = schema.get("$ref") if isinstance(schema, Mapping) and len(schema) == 1 else None
        if not isinstance(reference, str):
            return output_rows(schema, self._document, steps)
        if reference not in self._rows:
            self._rows[reference] = output_rows(schema, self._document, steps)
        return self._rows[reference]

    def _target(self, link: Mapping[str, Any]) -> str | None:
        """Return the name of the tool that a link leads to; None where the document has no such operation."""
        if isinstance(link.get("operationId"), str):
            return name if (name := operation_id(link)) in self._known else None
        reference = link.get("operationRef")
        match = _OPERATION.match(reference) if isinstance(reference, str) and len(reference) <= 2 * _MAX_NAME else None
        if match is None:
            return None
        route, method = map(unescape_pointer_part, match.groups())
        return self.names.get((route, method))


def _server(server: Any) -> str:
    """Return the URL of a server with the defaults of its variables; empty where one has none."""
    url = text_of(mapping(server).get("url"), _MAX_SERVER)
    for name, variable in list(mapping(mapping(server).get("variables")).items())[:_MAX_VARIABLES]:
        default = mapping(variable).get("default")
        if isinstance(default, str | int) and len(url) <= _MAX_SERVER:
            url = url.replace("{" + str(name) + "}", str(default)[:_MAX_SERVER])
    return "" if "{" in url else url


def _schema(response: Mapping[str, Any]) -> Any:
    """Return the schema of a response in JSON: of its content (OpenAPI 3), or its own (Swagger 2.0)."""
    content = response.get("content")
    if not isinstance(content, Mapping):
        return response.get("schema")
    media = (content[key] for key in content if JSON_MEDIA.match(str(key)) or key in _ANY_MEDIA)
    return mapping(next(media, None)).get("schema")


def _links(tool: str, parameters: Any) -> Iterator[Link]:
    """Yield the parameters of a tool that an answer gives. A constant is none: it is not of the answer."""
    for parameter, expression in _items(parameters):
        if isinstance(expression, str) and _EXPRESSION.search(expression[:_MAX_NAME]):
            link = Link(_PLACE.sub("", parameter), tool, expression)
            if max(len(link.parameter), len(tool), len(expression)) <= _MAX_NAME:
                yield link


def operation_id(row: Any) -> str:
    """Return the id of an operation; empty where it has none."""
    found = mapping(row).get("operationId")
    return found.strip() if isinstance(found, str) else ""


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the first entries of an object, whose keys may be numbers in YAML; none of any other value."""
    for key, item in islice(mapping(value).items(), _MAX_RESPONSES):
        yield str(key), item


def text_of(value: Any, most: int = _MAX_TEXT) -> str:
    """Return a text of the document; empty where it is none, or longer than any real one."""
    return value if isinstance(value, str) and len(value) <= most else ""
