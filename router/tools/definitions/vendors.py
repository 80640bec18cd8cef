"""Reads one tool definition of any vendor into a RawTool: the only such reader, for builds and at run time.

The vendors' names of each field are in `router.tools.definitions.vendors`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from router.errors import RecordRejected
from router.fingerprint import canonical_json
from router.record import Origin, Parameter
from router.tools.definitions.raw_tool import FieldReader, RawTool
from router.tools.definitions.rows import output_rows, parameter_rows
from router.tools.definitions.schema_shapes import (
    JSON_SCHEMA,
    ParsedParameters,
    is_empty,
    parse_parameters,
    with_required,
)

# Keys of an object around the definition: OpenAI's chat format, Amazon Bedrock's.
WRAPPERS = ("function", "toolSpec", "tool_spec", "tool")
# Keys of the description; the first that is not empty counts.
DESCRIPTIONS = ("description", "desc", "modelDescription", "summary", "title", "annotations.title")
# Keys of the parameters, and whether the key is certain: an unreadable value there rejects the record. Under an
# uncertain key it is only reported as not read.
PARAMETERS = {
    "inputSchema.json": False,  # Amazon Bedrock
    "inputSchema": True,  # MCP
    "input_schema": True,  # Anthropic
    "parameters": True,  # OpenAI; a mapping by name: ToolBench, xLAM, API-Bank; a list: Dify, OpenAPI
    "parametersJsonSchema": False,  # Gemini
    "parameters_json_schema": False,
    "schema.parameters": False,
    "schema.inputSchema": False,
    "schema.input_schema": False,
    "schema": False,
    "args_schema": False,  # LangChain
    "parameter_definitions": False,  # Cohere
    "input_parameters": False,
    "inputParameters": False,
    "inputs": False,  # smolagents
    "args": False,
    "arguments": False,  # Docker's registry of MCP servers, and MCP's prompts
    "parameter": False,  # MCP-Zero
    "params": False,
}
# Two lists, of the required parameters and of the others.
SPLIT_PARAMETERS = ("required_parameters", "optional_parameters")
# Keys of the schema of what a call answers, and whether the key is certain: only there, shapes other than JSON Schema
# are read. Elsewhere the key may mean anything.
OUTPUTS = {
    "outputSchema.json": True,
    "outputSchema": True,  # MCP
    "output_schema": True,
    "output_parameters": True,
    "outputParameters": True,
    "responseJsonSchema": False,  # Gemini
    "response_json_schema": False,
    "response": False,  # Gemini
    "responseSchema": False,
    "response_schema": False,
    "returns": False,
    "return_schema": False,
    "output": False,
    "outputs": False,
}
PROVIDERS = ("provider", "serverInfo.name", "server.name", "server", "server_name", "serverName")
CATEGORIES = ("category", "categories", "tags")
EXAMPLES = ("input_examples", "examples")
# Keys that say nothing about the purpose of a tool; they are not reported as unread.
METADATA = frozenset(
    "$schema id uid uuid slug key type kind version schema_version url uri link homepage website repository repo "
    "source icon icons image logo avatar color theme _meta meta metadata outputSchema output_schema output outputs "
    "output_type outputType returns return_type response responses strict execution created created_at createdAt "
    "updated updated_at updatedAt timestamp author authors license licence maintainer owner embedding embeddings "
    "vector vectors cache_control defer_loading allowed_callers enabled disabled hidden status index order position "
    "hash checksum stars downloads nextCursor _id name_embedding description_embedding".split()
)


_MAX_SHOWN = 60  # characters of the value of an unread key


def read_tool(row: object, origin: Origin, provider: str | None = None, *, own_id: bool = False) -> RawTool:
    """Return the tool of a definition in any format. Raises RecordRejected, which names the field.

    `provider` counts unless the definition names one itself. With `own_id`, the definition's `id` becomes the tool's,
    as in this project's JSONL; elsewhere it may mean anything, and a server could take the id of another's tool.
    """
    outer = FieldReader(row, origin)
    fields, wrapper = _unwrapped(outer)
    read = _AuxiliaryFields(fields)
    key, parameters = _parameters(fields, read)
    schema = parameters.schema
    if isinstance(fields.row.get("required"), list):
        schema = with_required(schema, fields.row["required"])
        read.used.add("required")
    annotations = fields.mapping("annotations")  # not auxiliary: filters depend on these hints
    description = fields.text(DESCRIPTIONS[0])
    description = description if description.strip() else read.first_text(DESCRIPTIONS[1:]) or description
    title = read.first_text(["title"])
    outputs, output_key = _outputs(fields.row, outer.row)
    lost = key if key and not is_empty(schema) and not _has_parameters(schema) else None
    tool = RawTool(
        name=fields.name(),
        origin=origin,
        description=description,
        input_schema=_with_comment(schema, key, parameters.shape),
        id=(fields.text("id").strip() or None) if own_id else None,
        provider=_provider(fields, read, provider),
        examples=tuple(example for field in EXAMPLES for example in read.texts(field)),
        categories=tuple(category for field in CATEGORIES for category in read.texts(field)),
        annotations={
            **annotations,
            **({"title": title} if title else {}),
            **({"strict": True} if fields.row.get("strict") is True else {}),
        },
        deprecated=fields.row.get("deprecated") is True,
        outputs=outputs,
        shape=f"{key}: {parameters.shape}" if parameters.shape else "",
        lost=lost or (None if schema else read.lost),
    )
    read.used |= {"name", DESCRIPTIONS[0], "annotations", "deprecated", output_key}
    unread = dict(unread_keys(fields.row, read.used, f"{wrapper}." if wrapper else ""))
    if wrapper:
        unread |= unread_keys(outer.row, {wrapper, output_key})
    return replace(tool, unread=unread) if unread else tool


def unread_keys(row: Mapping[str, Any], used: set[str], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the keys that were not read, each with its shortened value; without metadata and empty values."""
    for key, value in row.items():
        is_empty_value = value is None or value in ("", [], {}) or isinstance(value, bool)
        if key not in used and key not in METADATA and not is_empty_value and not key.startswith(("x-", "$", "_")):
            yield prefix + key, _shorten(value)


class _AuxiliaryFields:
    """Reads fields that do not reject the record where they have a wrong type: they are reported as unread.

    `used` are the keys that were read; `lost` is the key of parameters that could not be read.
    """

    def __init__(self, fields: FieldReader) -> None:
        self.used: set[str] = set()
        self.lost: str | None = None
        self._fields = fields

    def first_text(self, places: Iterable[str]) -> str:
        """Return the first text at dotted places that is not empty; empty where there is none."""
        for place in places:
            value = value_at(self._fields.row, place)
            if isinstance(value, str) and value.strip():
                self.used.add(place.partition(".")[0])
                return value
        return ""

    def texts(self, field: str) -> tuple[str, ...]:
        """Return the texts of a list, or one text; empty where the value is neither."""
        if not isinstance(self._fields.row.get(field), str | list):
            return ()
        self.used.add(field)
        return self._fields.texts(field)


def value_at(row: Mapping[str, Any], place: str) -> Any:
    """Return the value at a dotted place, such as "server.name"; None where there is none."""
    value: Any = row
    for key in place.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _unwrapped(outer: FieldReader) -> tuple[FieldReader, str | None]:
    """Return the inner object of a wrapped definition and the wrapper's key; else the object itself and None."""
    for wrapper in WRAPPERS:
        if wrapper not in outer.row:
            continue
        if isinstance(outer.row[wrapper], dict) or (wrapper == WRAPPERS[0] and "name" not in outer.row):
            return FieldReader(outer.row[wrapper], outer.origin), wrapper
    return outer, None


def _parameters(fields: FieldReader, read: _AuxiliaryFields) -> tuple[str, ParsedParameters]:
    """Return the key of the parameters and the parameters; empty ones where there are none."""
    wrappers = set()  # of a schema that is empty: {"json": {}} is no schema of a parameter `json`
    for place, certain in PARAMETERS.items():
        value = value_at(fields.row, place)
        if value is None or place in wrappers:
            continue
        parsed = parse_parameters(value)
        if parsed is None and certain:
            expected = "an object" if not isinstance(value, list) else "an object or a list of named ones"
            raise RecordRejected(fields.origin, f"{place} is {fields.kind(place)}, not {expected}")
        if parsed is None:
            read.lost = read.lost or place
        else:
            read.used.add(place.partition(".")[0])
            if parsed.schema:
                return place, parsed
            wrappers.add(place.rpartition(".")[0])
    return _split_parameters(fields, read) or ("", ParsedParameters())


def _split_parameters(fields: FieldReader, read: _AuxiliaryFields) -> tuple[str, ParsedParameters] | None:
    required, optional = (parse_parameters(fields.row.get(key)) for key in SPLIT_PARAMETERS)
    if required is None or optional is None or not (required.schema or optional.schema):
        return None
    read.used |= set(SPLIT_PARAMETERS)
    names = required.schema.get("properties", {})
    properties = {**names, **optional.schema.get("properties", {})}
    schema = with_required({"type": "object", "properties": properties}, list(names))
    return " and ".join(SPLIT_PARAMETERS), ParsedParameters(schema, required.shape or optional.shape)


def _outputs(*rows: Mapping[str, Any]) -> tuple[tuple[Parameter, ...], str]:
    """Return the output rows that a definition declares, and the key that they were read from; empty ones for none.

    `rows` are the object with the definition's fields, and the objects around it.
    """
    for row in rows:
        for place, certain in OUTPUTS.items():
            value = value_at(row, place)
            if value and (certain or _is_schema_beyond_doubt(value)):
                parsed = parse_parameters(value)
                if parsed and (outputs := output_rows(parsed.schema)):
                    return outputs, place.partition(".")[0]
    return (), ""


def _is_schema_beyond_doubt(value: Any) -> bool:
    """Return whether a value is a JSON Schema of an object or a list."""
    return isinstance(value, Mapping) and (
        isinstance(value.get("properties"), Mapping)
        or isinstance(value.get("items"), Mapping)
        or any(isinstance(value.get(keyword), list) for keyword in ("allOf", "anyOf", "oneOf"))
    )


def _with_comment(schema: dict[str, Any], key: str, shape: str) -> dict[str, Any]:
    """Return a schema with a comment on the original key and shape, where it was no JSON Schema."""
    return {"$comment": f"read from {key}, {shape}", **schema} if schema and shape != JSON_SCHEMA else schema


def _has_parameters(schema: dict[str, Any]) -> bool:
    properties = schema.get("properties")
    return bool(properties) if isinstance(properties, dict) else bool(parameter_rows(schema))


def _provider(fields: FieldReader, read: _AuxiliaryFields, listed: str | None) -> str | None:
    """Return the provider that the definition names, else the one that it is listed under."""
    if "provider" in fields.row:
        read.used.add("provider")
        return fields.text("provider") or listed
    return read.first_text(PROVIDERS) or listed


def _shorten(value: Any) -> str:
    """Return a value as a short text; of a list only the first item and the length."""
    if isinstance(value, list):
        if not value:
            return "[]"
        first = _shorten(value[0]) if len(value) == 1 else f"{_shorten(value[0])}, … {len(value):,} items"
        return f"[{first}]"
    if isinstance(value, dict):
        keys = ", ".join(str(key) for key in list(value)[:4])
        return f"{{{keys[:_MAX_SHOWN]}{', …' if len(value) > 4 else ''}}}"
    text = " ".join((value if isinstance(value, str) else canonical_json(value)).split())
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"
