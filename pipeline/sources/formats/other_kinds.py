"""Say what a document is that holds no tools, by its shape, and what to do with it."""

import re
from collections.abc import Iterator
from typing import Any

from router.tools.definitions.vendors import value_at

_CONVERT = "export or convert it to OpenAPI, and build that"
_LIST = "list the calls to offer as function schemas, or name an MCP server over it"
_INSTALL = "it says how to start a server, not which tools it has: name the server under [[source]], by command or url"
_BESIDE = "put it under `parameters`, beside a name and a description"
# Places of values that only such a document has, with a text in it after "="; then what it is, and what to do.
_DOCUMENTS = (
    ("info._postman_id info.schema=getpostman collection.info", "a Postman collection", _CONVERT),
    ("asyncapi", "an AsyncAPI document", f"it describes messages, not calls: {_LIST}"),
    ("__schema data.__schema", "the introspection of a GraphQL schema", _LIST),
    ("log.entries", "a recording of requests (HAR)", _CONVERT),
    ("__export_format _type=export type=insomnia.rest", "an Insomnia export", _CONVERT),
    ("discoveryVersion kind=discovery# servicePath", "a Google discovery document", _CONVERT),
    ("swaggerVersion openrpc smithy arazzo overlay", "a description of an API in another language", _CONVERT),
    ("name_for_model", "a plugin's manifest", "build the OpenAPI document at its api.url"),
    ("$schema=server.schema.json packages remotes servers", "an MCP server's entry in a registry", _INSTALL),
    ("defaultInputModes skills", "an agent's card (A2A)", f"an agent is no tool: {_LIST}"),
    ("scripts dependencies devDependencies require project tool", "the manifest of a package", _LIST),
    ("$schema=json-schema.org properties", "a JSON Schema", _BESIDE),
    ("name", "an object with a name that is no tool", "if it is one, set [source.fields] tools = '@'"),
)
_TEXTS = (
    (r"\ufeff?\s*(?:<\?xml(?![\s\S]{,500}<html)|<\w+:|<definitions|<application)", "XML, such as a WSDL", _CONVERT),
    (r"#%RAML", "a RAML document", _CONVERT),
    (r"(?:\s|//.*\n|/\*[\s\S]{,2000}?\*/)*(?:syntax\s*=\s*[\"']proto|edition\s*=)", "a protobuf file", _LIST),
    (r"(?:\s|#.*\n)*(?:schema|(?:type|interface|scalar) \w+)[^:\n]*[{@(\n]", "a GraphQL schema", _LIST),
    (r"FORMAT:\s*1A", "an API Blueprint", _CONVERT),
    (r"\[(?:package|project|build-system|tool\.[\w.-]+)\]\s*\n", "the manifest of a package (TOML)", _LIST),
)


def other_text(text: str) -> str | None:
    """Return what a text is that is neither JSON nor YAML of tools, and what to do with it; None where it may be."""
    return next((f"{what}: {advice}" for start, what, advice in _TEXTS if re.match(start, text)), None)


def other_document(document: Any) -> str | None:
    """Return what a document without tools is, and what to do with it; None where it is nothing known."""
    rows = (f"{what}: {advice}" for places, what, advice in _DOCUMENTS if any(_has(document, places)))
    return next(rows, None) if isinstance(document, dict) else None


def _has(document: dict[str, Any], places: str) -> Iterator[bool]:
    for place, _, word in (place.partition("=") for place in places.split()):
        value = value_at(document, place)
        yield word in value if word and isinstance(value, str) else value is not None and not word
