"""Tool definitions in every shape that is met in the wild: what is read of each, by a build and at run time."""

import json
from typing import Any

import jsonschema
import pytest

from pipeline.errors import RunAborted
from pipeline.records import catalog_records
from pipeline.settings import CatalogSettings
from pipeline.sources import Reading, read
from router.provider_formats.formats import ProviderFormat
from router.provider_formats.rendering import render
from router.record import ToolRecord
from router.tools.definitions.nesting import find_definitions
from router.tools.functions.reading import read_tools
from tests.support.places import DATA

SHAPES = DATA / "shapes"

# By file and tool: its parameters as `path:type`, with `!` where required.
READ: dict[str, dict[str, str]] = {
    "openai_chat.json": {"openai_chat/get_forecast": "city:string! days:integer"},
    "anthropic.json": {"anthropic/get_forecast": "city:string! days:integer"},
    "mcp_pages.json": {"weather/get_forecast": "city:string! days:integer"},
    "gemini.json": {"gemini/get_forecast": "city:string! days:integer", "gemini/get_tides": "harbour:string"},
    "bedrock_converse.json": {"bedrock_converse/get_forecast": "city:string! days:integer"},
    "bedrock_agents.json": {"bedrock_agents/get_forecast": "city:string! days:integer"},
    "cohere.json": {"cohere/get_forecast": "city:string! days:integer"},
    "langchain_args.json": {"langchain_args/get_forecast": "city:string days:integer"},
    "smolagents.json": {"smolagents/get_forecast": "city:string days:integer"},
    "docker_registry.json": {
        "docker_registry/get_forecast": "city:string days:integer units:array",
        "docker_registry/ping": "",
    },
    "nested_servers.json": {
        "ClickHouse/list_tables": "",
        "ClickHouse/run_query": "query:string limit:integer",
        "Postgres/describe": "title:string type:string description:boolean",
        "Postgres/run_query": "query:string limit:integer",
    },
    "servers_by_name.json": {"ClickHouse/run_query": "query:string", "Postgres/run_query": "query:string"},
    "toolkits_of_servers.json": {"ClickHouse/run_query": "query:string", "Postgres/run_query": "query:string"},
    "lists_by_server.json": {"ClickHouse/run_query": "query:string", "Postgres/run_query": "query:string"},
    "tools_by_name.json": {
        "tools_by_name/get_forecast": "city:string! days:integer",
        "tools_by_name/get_tides": "harbour:string day:string",
    },
    "server_a_line.jsonl": {"ClickHouse/run_query": "query:string", "get_tides": "harbour:string"},
    "python_types.jsonl": {"get_forecast": "city:string days:integer layers:array station:"},
    "draft_types.jsonl": {"get_forecast": "city:string! point:array options:object options.hourly:boolean!"},
    "lists_of_objects.json": {
        "lists_of_objects/get_forecast": "city:string! units:",
        "lists_of_objects/get_station": "id:integer!",
    },
    "toolbench.json": {"Coast/get_tides": "", "Meteo/get_forecast": "city:string! days:number"},
    "required_beside.json": {"required_beside/get_forecast": "city:string! days:integer"},
    "schema_inside.json": {
        "schema_inside/get_forecast": "city:string! days:integer",
        "schema_inside/get_tides": "harbour:string",
    },
    "text_of_json.jsonl": {"get_forecast": "city:string! days:integer", "get_tides": "harbour:string"},
    "names_alone.json": {"names_alone/get_forecast": "city: days:"},
    "no_properties.json": {
        "no_properties/get_forecast": "city:string! place:object place.street:string place.number:integer"
    },
    "lost_parameters.json": {"lost_parameters/get_forecast": "", "lost_parameters/get_tides": ""},
}
MAPPED: dict[str, dict[str, Any]] = {
    "unknown_keys.jsonl": {
        "fields": {
            "name": "api_name",
            "description": "functionality",
            "parameters": "api_arguments",
            "provider": "domain",
        },
        "read": {"Sea/get_tides": "harbour:string", "Weather/get_forecast": "city:string days:integer"},
    },
    "unknown_nesting.json": {
        "fields": {
            "servers": "registry",
            "tools": "apis",
            "name": "api_name",
            "description": "functionality",
            "parameters": "api_arguments",
            "provider": "vendor",
        },
        "read": {"Coast/get_tides": "harbour:string", "Meteo/get_forecast": "city:string"},
    },
}


def reading(file: str, **source: Any) -> Reading:
    return read(CatalogSettings(name="shapes", folder=SHAPES, source=[{"path": file, **source}]))


def told(records: tuple[ToolRecord, ...]) -> dict[str, str]:
    return {
        record.tool_id: " ".join(f"{p.path}:{p.type}{'!' if p.required else ''}" for p in record.parameters)
        for record in records
    }


@pytest.mark.parametrize("file", READ)
def test_each_shape_is_read_with_its_providers_and_parameters_as_a_schema_that_every_provider_takes(file: str) -> None:
    found = reading(file)
    assert found.rejected == ()
    catalog = catalog_records(found.tools)
    assert told(catalog.records) == READ[file]
    assert all(record.description for record in catalog.records)
    assert catalog.count("renamed") == catalog.count("merged") == 0
    for record in catalog.records:
        jsonschema.Draft202012Validator.check_schema(dict(record.input_schema))
        assert all(len(render([record], form).tools) == 1 for form in ProviderFormat)


@pytest.mark.parametrize("file", MAPPED)
def test_any_other_shape_is_read_as_the_settings_say(file: str) -> None:
    found = reading(file, fields=MAPPED[file]["fields"])
    assert found.rejected == () and all(tool.unread == {} for tool in found.tools)
    assert told(catalog_records(found.tools).records) == MAPPED[file]["read"]
    if file == "unknown_nesting.json":
        assert [tool.origin.pointer for tool in found.tools] == ["/registry/0/apis/0", "/registry/1/apis/0"]
        with pytest.raises(RunAborted, match=r"its keys are registry\. If it holds tools all the same, say where"):
            reading(file)


@pytest.mark.parametrize("file", READ)
def test_the_same_definitions_at_run_time_are_the_same_tools(file: str) -> None:
    text = (SHAPES / file).read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()] if file.endswith("l") else json.loads(text)
    if isinstance(rows, dict):  # at run time tools come in a list; a document as a whole may be its only item
        rows = [rows] if "tools" in rows or "servers" in rows else [one.row for one in find_definitions(rows) or ()]
    of_row = {(record.name, record.input_schema.get("$comment")): record for record in read_tools(rows).records}
    for record in catalog_records(reading(file).tools).records:
        same = of_row[record.name, record.input_schema.get("$comment")]
        assert (same.input_schema, same.description) == (record.input_schema, record.description)


def test_a_schema_of_another_shape_says_where_it_comes_from_and_describes_a_type_that_nobody_knows() -> None:
    (first, *_) = reading("docker_registry.json").tools
    assert first.input_schema["$comment"] == "read from arguments, list of objects"
    units = {"type": "array", "items": {"type": "string"}, "description": "Which units."}
    assert first.input_schema["properties"]["units"] == units
    (tool,) = reading("python_types.jsonl").tools
    assert tool.input_schema["properties"]["station"] == {"description": "Where it is measured. (Optional[Station])"}
    assert tool.input_schema["properties"]["layers"]["items"] == {"type": "string"}


def test_the_table_of_shapes_names_every_file() -> None:
    table = (SHAPES / "README.md").read_text(encoding="utf-8")
    files = {path.name for path in SHAPES.iterdir()} - {"README.md"}
    assert files == {*READ, *MAPPED}
    assert [file for file in sorted(files) if f"| `{file}` |" not in table] == []
