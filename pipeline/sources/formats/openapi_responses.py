"""Read what the operations of an OpenAPI or Swagger document answer: rows of the first good response, and links.

Nothing in a response rejects an operation: who calls it does not need to know what it answers.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from router.record import Link, Parameter
from router.tools.definitions.json_values import unescape_pointer_part
from router.tools.definitions.raw_tool import RawTool
from router.tools.definitions.rows import MAX_STEPS, Steps, follow, output_rows

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
JSON_MEDIA = re.compile(r"^application/(?:[\w.+-]+\+)?json\b", re.IGNORECASE)
_ANY_MEDIA = ("*/*", "application/*")
# Of all operations together, some 10 s: operations share schemas, so that a document could be read many times over.
_MAX_STEPS = 1_000_000
_MAX_RESPONSES = 20  # of an operation, and links of a response
_MAX_LINKS = 50  # of an operation
_MAX_LOST = 5  # links of an operation that lead nowhere, told by name
_MAX_NAME = 500  # characters of a parameter, a tool or an expression
_PLACE = re.compile(r"^(?:path|query|header|cookie)\.")
_EXPRESSION = re.compile(r"\$(?:response|request)\.")
_OPERATION = re.compile(r"^#/paths/([^/]+)/([^/]+)$")


def operation_name(operation_id: str, method: str, route: str) -> str:
    """Return the name of an operation's tool: its id, else its method and path."""
    return operation_id.strip() or f"{method}_{route}"


class Responses:
    """The responses of the operations of one document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._left = _MAX_STEPS
        self._path_steps = Steps(_MAX_STEPS)
        self._path_items: dict[str, Mapping[str, Any]] = {}  # many links lead to one path, whose references may be long
        self._rows: dict[str, tuple[Parameter, ...]] = {}  # by reference: operations share schemas

    def added_to(self, tool: RawTool, operation: Mapping[str, Any]) -> RawTool:
        """Return an operation's tool with what it answers and what its answer links to."""
        allowed = min(MAX_STEPS, self._left)
        steps = Steps(allowed)
        responses = list(self._good(operation, steps))
        outputs = next(filter(None, (self._outputs(self._schema(one), steps) for one in responses)), ())
        links: dict[Link, None] = {}
        lost: list[str] = []
        for response in responses:
            for name, link in _items(response.get("links")):
                if len(links) < _MAX_LINKS and steps.take():
                    self._read_link(name, follow(link, self._document, steps)[0], links, lost)
        self._left -= allowed - max(steps.left, 0)
        names = list(dict.fromkeys(name[:100] for name in lost))[:_MAX_LOST]
        notices = tuple(f"its link {name} leads to no operation of the document" for name in names)
        if not (outputs or links or notices):
            return tool
        return replace(tool, outputs=outputs, links=tuple(links)[:_MAX_LINKS], notices=(*tool.notices, *notices))

    def _good(self, operation: Mapping[str, Any], steps: Steps) -> Iterator[Mapping[str, Any]]:
        """Yield the responses of an operation that mean success, the default one last."""
        listed = dict(_items(operation.get("responses")))
        for status in (*(status for status in listed if status.startswith("2")), "default"):
            response, _ = follow(listed.get(status), self._document, steps)
            if isinstance(response, Mapping):
                yield response

    def _outputs(self, schema: Any, steps: Steps) -> tuple[Parameter, ...]:
        reference = schema.get("$ref") if isinstance(schema, Mapping) and len(schema) == 1 else None
        if not isinstance(reference, str):
            return output_rows(schema, self._document, steps)
        if reference not in self._rows:
            self._rows[reference] = output_rows(schema, self._document, steps)
        return self._rows[reference]

    @staticmethod
    def _schema(response: Mapping[str, Any]) -> Any:
        """Return the schema of a response in JSON: of its content (OpenAPI 3), or its own (Swagger 2.0)."""
        content = response.get("content")
        if not isinstance(content, Mapping):
            return response.get("schema")
        media = next((content[key] for key in content if JSON_MEDIA.match(str(key)) or key in _ANY_MEDIA), None)
        return media.get("schema") if isinstance(media, Mapping) else None

    def _read_link(self, name: str, link: Any, links: dict[Link, None], lost: list[str]) -> None:
        """Add a link's parameters to `links`, or its name to `lost` where it leads to no operation."""
        if not isinstance(link, Mapping):
            return
        tool = self._target(link)
        if tool is None:
            lost.append(name)
            return
        for parameter, expression in _items(link.get("parameters")):
            # Anything else is a constant, which the answer does not give.
            if isinstance(expression, str) and _EXPRESSION.search(expression[:_MAX_NAME]):
                one = Link(_PLACE.sub("", parameter), tool, expression)
                if max(map(len, (one.parameter, one.tool, one.expression))) <= _MAX_NAME:
                    links[one] = None

    def _target(self, link: Mapping[str, Any]) -> str | None:
        """Return the name of the tool that a link leads to; None where the document has no such operation."""
        if isinstance(operation_id := link.get("operationId"), str):
            return operation_id.strip() if operation_id.strip() in self._operation_ids else None
        reference = link.get("operationRef")
        match = _OPERATION.match(reference) if isinstance(reference, str) and len(reference) <= 2 * _MAX_NAME else None
        if match is None:
            return None
        route, method = map(unescape_pointer_part, match.groups())
        operation = self._item(route).get(method) if method in METHODS else None
        return operation_name(_id(operation), method, route) if isinstance(operation, Mapping) else None

    @cached_property
    def _operation_ids(self) -> frozenset[str]:
        routes = [route for route, _ in _items(self._document.get("paths"), len(self._document["paths"]))]
        items = map(self._item, routes)
        return frozenset(_id(item[method]) for item in items for method in METHODS if method in item)

    def _item(self, route: str) -> Mapping[str, Any]:
        if route not in self._path_items:
            item, _ = follow(self._document["paths"].get(route), self._document, self._path_steps)
            self._path_items[route] = item if isinstance(item, Mapping) else {}
        return self._path_items[route]


def _id(operation: Any) -> str:
    operation_id = operation.get("operationId") if isinstance(operation, Mapping) else None
    return operation_id.strip() if isinstance(operation_id, str) else ""


def _items(value: Any, most: int = _MAX_RESPONSES) -> Iterator[tuple[str, Any]]:
    """Yield the first entries of an object, whose keys may be numbers in YAML; none of any other value."""
    if isinstance(value, Mapping):
        for key, _ in zip(value, range(most), strict=False):
            yield str(key), value[key]
