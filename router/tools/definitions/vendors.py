"""Reads one tool definition of any vendor into a RawTool: the only such reader, for builds and at run time."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from router.errors import RecordRejected
from router.fingerprint import canonical_json
from router.record import Origin, Parameter
from router.tools.definitions.raw_tool import FieldReader, RawTool
from router.tools.definitions.rows import output_rows, parameter_rows
from router.tools.definitions.schemas import (
    COMBINATIONS,
    JSON_SCHEMA,
    ParsedParameters,
    is_empty,
    parse_parameters,
    with_required,
)

# Keys of an object around the definition: OpenAI's chat format, Amazon Bedrock's.
WRAPPERS = ("function", "toolSpec", "tool_spec", "tool")
# Keys of the description beside `description`; the first that is not empty counts.
_DESCRIPTIONS = ("desc", "modelDescription", "summary", "title", "annotations.title")
# Keys of the parameters, and whether the key is certain: an unreadable value there rejects the record. Under an
# uncertain key it is only reported as not read. The first are Amazon Bedrock's, MCP's, Anthropic's and OpenAI's (a
# mapping by name: ToolBench, xLAM, API-Bank; a list: Dify, OpenAPI); then Gemini's, LangChain's, Cohere's,
# smolagents', those of Docker's registry and MCP's prompts (arguments), MCP-Zero's (parameter).
PARAMETERS = {
    key: key in ("inputSchema", "input_schema", "parameters")
    for key in (
        "inputSchema.json inputSchema input_schema parameters parametersJsonSchema parameters_json_schema "
        "schema.parameters schema.inputSchema schema.input_schema schema args_schema parameter_definitions "
        "input_parameters inputParameters inputs args arguments parameter params"
    ).split()
}
# Two lists, of the required parameters and of the others.
SPLIT_PARAMETERS = ("required_parameters", "optional_parameters")
# Keys of the schema of what a call answers. Only under a certain one shapes other than JSON Schema are read: elsewhere
# the key may mean anything.
_CERTAIN_OUTPUTS = "outputSchema.json outputSchema output_schema output_parameters outputParameters".split()
_OUTPUTS = (
    *_CERTAIN_OUTPUTS,
    *"responseJsonSchema response_json_schema response responseSchema response_schema".split(),
    *"returns return_schema output outputs".split(),
)
_PROVIDERS = ("provider", "serverInfo.name", "server.name", "server", "server_name", "serverName")
_CATEGORIES = ("category", "categories", "tags")
_EXAMPLES = ("input_examples", "examples")
# Keys that say nothing about the purpose of a tool; they are not reported as unread.
_METADATA = frozenset(
    "$schema id uid uuid slug key type kind version schema_version url uri link homepage website repository repo "
    "source icon icons image logo avatar color theme _meta meta metadata outputSchema output_schema output outputs "
    "output_type outputType returns return_type response responses strict execution created created_at createdAt "
    "updated updated_at updatedAt timestamp author authors license licence maintainer owner embedding embeddings "
    "vector vectors cache_control defer_loading allowed_callers enabled disabled hidden status index order position "
    "hash checksum stars downloads nextCursor _id name_embedding description_embedding".split()
)
# Types of tools that providers run: those that carry the date of a version, and those without one.
_HOSTED = re.compile(
    r"\w{1,60}_(?:\d{8}|\d{4}_\d\d_\d\d)|(?:web_search|web_fetch|file_search|code_interpreter|code_execution|computer|"
    r"computer_use|image_generation|local_shell|shell|bash|text_editor|apply_patch|memory|mcp|mcp_toolset|tool_search|"
    r"google_search|url_context|retrieval)(?:_preview)?"
)
_MAX_SHOWN = 60  # characters of the value of an unread key


def read_tool(row: object, origin: Origin, provider: str | None = None, *, own_id: bool = False) -> RawTool:
    """Return the tool of a definition in any format. Raises RecordRejected, which names the field.

    `provider` counts unless the definition names one itself. With `own_id`, the definition's `id` becomes the tool's,
    as in this project's JSONL; elsewhere it may mean anything, and a server could take the id of another's tool.
    """
    outer = FieldReader(row, origin).row
    wrapper = next((key for key in WRAPPERS if isinstance(outer.get(key), dict)), "")
    if WRAPPERS[0] in outer and "name" not in outer:  # it is the definition, or rejected
        wrapper = WRAPPERS[0]
    fields = _Fields(outer[wrapper] if wrapper else outer, origin)
    if (kind := _hosted_type(fields.row)) is not None:
        raise RecordRejected(
            origin, f"{kind!r} is no function: a hosted tool is switched on at its provider, not called"
        )
    key, parameters = fields.parameters()
    schema = parameters.schema
    if isinstance(fields.row.get("required"), list):
        schema = with_required(schema, fields.row["required"])
        fields.used.add("required")
    annotations = fields.mapping("annotations")  # not optional: filters depend on these hints
    description = fields.text("description")
    description = description if description.strip() else fields.first_text(_DESCRIPTIONS) or description
    title = fields.first_text(["title"])
    outputs, output_key = _outputs(fields.row, outer)
    named = schema.get("properties")
    has_parameters = bool(named) if isinstance(named, dict) else bool(parameter_rows(schema))
    lost = key if key and not is_empty(schema) and not has_parameters else None
    if schema and parameters.shape != JSON_SCHEMA:
        schema = {"$comment": f"read from {key}, {parameters.shape}", **schema}
    name, tool_id = fields.name(), (fields.text("id").strip() or None) if own_id else None
    if "provider" in fields.row:
        fields.used.add("provider")
        provider = fields.text("provider") or provider
    else:
        provider = fields.first_text(_PROVIDERS) or provider
    examples = tuple(example for field in _EXAMPLES for example in fields.optional_texts(field))
    categories = tuple(category for field in _CATEGORIES for category in fields.optional_texts(field))
    unread = dict(unread_keys(fields.row, {*fields.used, output_key}, f"{wrapper}." if wrapper else ""))
    if wrapper:
        unread |= unread_keys(outer, {wrapper, output_key})
    return RawTool(
        name=name,
        origin=origin,
        description=description,
        input_schema=schema,
        id=tool_id,
        provider=provider,
        examples=examples,
        categories=categories,
        annotations={
            **annotations,
            **({"title": title} if title else {}),
            **({"strict": True} if fields.row.get("strict") is True else {}),
        },
        deprecated=fields.row.get("deprecated") is True,
        outputs=outputs,
        shape=f"{key}: {parameters.shape}" if parameters.shape else "",
        lost=lost or (None if schema else fields.lost),
        unread=unread,
    )


def _hosted_type(row: Mapping[str, Any]) -> str | None:
    """Return the type of a tool that its provider runs, such as OpenAI's and Anthropic's web search; None for others.

    Those have no schema, and no description: their type says what they are. OpenAI's custom tools take a text.
    """
    kind = row.get("type")
    if not isinstance(kind, str) or any(value_at(row, place) is not None for place in (*PARAMETERS, *SPLIT_PARAMETERS)):
        return None
    known = kind == "custom" or (_HOSTED.fullmatch(kind) and not row.get("description"))
    return kind[:_MAX_SHOWN] if known else None


def unread_keys(row: Mapping[str, Any], used: set[str], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the keys that were not read, each with its shortened value; without metadata and empty values."""
    for key, value in row.items():
        is_empty_value = value is None or value in ("", [], {}) or isinstance(value, bool)
        if key not in used and key not in _METADATA and not is_empty_value and not key.startswith(("x-", "$", "_")):
            yield prefix + key, _shorten(value)


def value_at(row: Mapping[str, Any], place: str) -> Any:
    """Return the value at a dotted place, such as "server.name"; None where there is none."""
    if "." not in place:
        return row.get(place)
    value: Any = row
    for key in place.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


class _Fields(FieldReader):
    """The fields of a definition. Those that may be of any type do not reject the record: they are reported as unread.

    `used` are the keys that were read; `lost` is the key of parameters that could not be read.
    """

    def __init__(self, row: object, origin: Origin) -> None:
        super().__init__(row, origin)
        self.used = {"name", "description", "annotations", "deprecated"}
        self.lost: str | None = None

    def first_text(self, places: Iterable[str]) -> str:
        """Return the first text at dotted places that is not empty; empty where there is none."""
        for place in places:
            value = value_at(self.row, place)
            if isinstance(value, str) and value.strip():
                self.used.add(place.partition(".")[0])
                return value
        return ""

    def optional_texts(self, field: str) -> tuple[str, ...]:
        """Return the texts of a list, or one text; empty where the value is neither."""
        if not isinstance(self.row.get(field), str | list):
            return ()
        self.used.add(field)
        return self.texts(field)

    def parameters(self) -> tuple[str, ParsedParameters]:
        """Return the key of the parameters and the parameters; empty ones where there are none."""
        wrappers = set()  # of a schema that is empty: {"json": {}} does not declare a parameter `json`
        for place, certain in PARAMETERS.items():
            value = value_at(self.row, place)
            if value is None or place in wrappers:
                continue
            if (parsed := parse_parameters(value)) is None:
                if certain:
                    expected = "an object" if not isinstance(value, list) else "an object or a list of named ones"
                    raise RecordRejected(self.origin, f"{place} is {self.kind(place)}, not {expected}")
                self.lost = self.lost or place
                continue
            self.used.add(place.partition(".")[0])
            if parsed.schema:
                return place, parsed
            wrappers.add(place.rpartition(".")[0])
        required, optional = (parse_parameters(self.row.get(key)) for key in SPLIT_PARAMETERS)
        if required is None or optional is None or not (required.schema or optional.schema):
            return "", ParsedParameters()
        self.used |= set(SPLIT_PARAMETERS)
        names = required.schema.get("properties", {})
        properties = {**names, **optional.schema.get("properties", {})}
        schema = with_required({"type": "object", "properties": properties}, list(names))
        return " and ".join(SPLIT_PARAMETERS), ParsedParameters(schema, required.shape or optional.shape)


def _outputs(*rows: Mapping[str, Any]) -> tuple[tuple[Parameter, ...], str]:
    """Return the output rows that a definition declares, and the key that they were read from; empty ones for none.

    `rows` are the object with the definition's fields, and the object around it.
    """
    for row in rows:
        for place in _OUTPUTS:
            value = value_at(row, place)
            if value and (place in _CERTAIN_OUTPUTS or _is_structure(value)):
                parsed = parse_parameters(value)
                if parsed and (outputs := output_rows(parsed.schema)):
                    return outputs, place.partition(".")[0]
    return (), ""


def _is_structure(value: Any) -> bool:
    """Return whether a value is a JSON Schema of an object or a list."""
    return isinstance(value, Mapping) and (
        any(isinstance(value.get(keyword), Mapping) for keyword in ("properties", "items"))
        or any(isinstance(value.get(keyword), list) for keyword in COMBINATIONS)
    )


def _shorten(value: Any) -> str:
    """Return a value as a short text; of a list only the first item and the length."""
    if isinstance(value, list):
        first = _shorten(value[0]) if value else ""
        return f"[{first}, … {len(value):,} items]" if len(value) > 1 else f"[{first}]"
    if isinstance(value, dict):
        keys = ", ".join(str(key) for key in list(value)[:4])
        return f"{{{keys[:_MAX_SHOWN]}{', …' if len(value) > 4 else ''}}}"
    text = " ".join((value if isinstance(value, str) else canonical_json(value)).split())
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"
