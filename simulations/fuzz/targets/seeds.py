"""Small whole documents of each format, from which mutations begin."""

import json
from typing import Any

from tests.support.factories import TOOLS, expansion_row

_POINT = {"type": "object", "properties": {"x": {"type": "number"}, "y": {"$ref": "#/components/schemas/Name"}}}
_TREE = {"$ref": "#/components/schemas/Tree"}
_SCHEMAS = {
    "Name": {"type": ["string", "null"], "enum": ["a", "b"], "maxLength": 9},
    "Point": {"allOf": [_POINT, {"required": ["x"]}]},
    "Tree": {"type": "object", "properties": {"children": {"type": "array", "items": _TREE}}},
}
OPENAPI: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Office", "version": "1"},
    "servers": [{"url": "https://{host}/v1", "variables": {"host": {"default": "a.example"}}}],
    "paths": {
        "/people/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
            "put": {
                "operationId": "changePerson",
                "summary": "Changes a person.",
                "tags": ["people"],
                "parameters": [{"$ref": "#/components/parameters/Notify"}],
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Point"}}},
                    "required": True,
                },
                "responses": {"200": {"description": "Changed."}},
            },
            "get": {"deprecated": True, "requestBody": {"$ref": "#/components/requestBodies/Tree"}},
        }
    },
    "components": {
        "schemas": _SCHEMAS,
        "parameters": {"Notify": {"name": "notify", "in": "query", "schema": {"type": "boolean", "default": False}}},
        "requestBodies": {"Tree": {"content": {"*/*": {"schema": {"$ref": "#/components/schemas/Tree"}}}}},
    },
}
_FILE = {"type": "file"}
SWAGGER: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "Office"},
    "paths": {
        "/people": {
            "post": {
                "operationId": "addPerson",
                "consumes": ["application/json"],
                "parameters": [
                    {"name": "notify", "in": "query", "type": "boolean"},
                    {"name": "ids", "in": "query", "type": "array", "items": {"type": "integer"}},
                    {"name": "person", "in": "body", "schema": {"$ref": "#/definitions/Person"}},
                ],
            }
        }
    },
    "definitions": {"Person": {"required": ["email"], "properties": {"email": {"type": "string"}, "photo": _FILE}}},
}
YAML_TEXT = b"""openapi: 3.0.0
info: &info {title: Office, version: "1"}
x-base: &base
  operationId: listPeople
  summary: >
    Lists people.
paths:
  /people:
    get:
      <<: *base
      parameters:
        - {name: no, in: query, schema: {type: integer, default: 12:30, enum: [0o7, 1_000, ~, on]}}
    post: {<<: [*base, {tags: [a]}], operationId: "add\\u0020Person"}
"""
MERGES = b"""a: &a {k: v, l: [1, 2]}
b: &b {<<: [*a, *a], m: 1}
c: &c {<<: [*b, *b], n: {<<: *b}}
d: &d {<<: [*c, *c, *b]}
openapi: {<<: [*d, *d]}
"""
FUNCTIONS: list[dict[str, Any]] = [
    *({"type": "function", "function": {key: tool[key] for key in ("name", "parameters")}} for tool in TOOLS[:2]),
    {"name": "deep", "input_schema": {"$defs": _SCHEMAS, "properties": {"tree": {"$ref": "#/$defs/Tree"}}}},
    {"name": "flat", "parameters": {"city": "the city", "days": {"type": "int", "required": True}}, "tags": ["sky"]},
]
MCP: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {
        "tools": [
            {
                "name": "read_file",
                "title": "Read a file",
                "description": "Read a file of the disk.",
                "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
                "annotations": {"readOnlyHint": True, "title": "Read"},
                "_meta": {"server": "files"},
            },
            {"name": "list", "inputSchema": {"type": "object", "additionalProperties": {"type": "string"}}},
        ],
        "nextCursor": None,
    },
}
SERVERS: dict[str, Any] = {
    "servers": [
        {
            "title": "Files",
            "apis": [{"api": {"label": "read", "text": "Reads."}, "args": [{"name": "p", "type": "str"}]}],
        }
    ]
}
EXPANSIONS = [{**expansion_row(tool), "translations": {"de": ["zeige alles"]}} for tool in TOOLS[:3]]
JUDGEMENTS: list[dict[str, Any]] = [
    {"id": "1", "query": "undo a payment", "required": ["a/b"], "acceptable": ["a/b", "a/c"], "kind": "single"},
    {"id": "2", "query": "two things", "required": [], "acceptable": [], "kind": "multi", "groups": [["a/b"], ["a/c"]]},
]
USAGE = [{"request": "undo a payment", "tools": [TOOLS[1]["id"]]}, {"query": "rain?", "required": [TOOLS[7]["id"]]}]


def document(value: Any) -> bytes:
    """Return a value as a JSON document."""
    return json.dumps(value).encode()


def lines(rows: list[Any]) -> bytes:
    """Return values as JSON Lines."""
    return b"".join(document(row) + b"\n" for row in rows)
