"""Definitions of a vendor's tools as records, as a build makes them."""

import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.records import catalog_records
from router.errors import SettingsInvalid
from router.record import Origin, Parameter, ToolRecord
from router.tools.definitions.raw_tool import RawTool
from router.tools.definitions.reading import record_of
from router.tools.functions.reading import read_tools
from tests.support.hostile_json import hostile_json

SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
FUNCTION = {"name": "send_mail", "description": " Sends a mail. ", "parameters": SCHEMA}
ANNOTATIONS = {"readOnlyHint": False, "title": "Mail"}
FORMS: dict[str, dict[str, Any]] = {
    "OpenAI, chat": {"type": "function", "function": FUNCTION},
    "OpenAI, responses": {"type": "function", **FUNCTION},
    "Anthropic": {"name": "send_mail", "description": "Sends a mail.", "input_schema": SCHEMA},
    "required beside": {**FUNCTION, "parameters": {**SCHEMA, "required": []}, "required": ["to"]},
    "MCP": {"name": "send_mail", "description": "Sends a mail.", "inputSchema": SCHEMA},
    "Bedrock": {"toolSpec": {"name": "send_mail", "description": "Sends a mail.", "inputSchema": {"json": SCHEMA}}},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_definition_of_any_vendor_is_the_record_that_a_build_makes(form: str) -> None:
    raw = RawTool("send_mail", Origin("", ""), "Sends a mail.", SCHEMA, provider="acme mail")
    (expected,) = catalog_records([raw]).records
    record = record_of(FORMS[form], "acme mail")
    assert record.content() == expected.content()
    assert (record.tool_id, record.parameters) == ("acme-mail/send_mail", (Parameter("to", "string", required=True),))


def test_the_wrapper_of_an_empty_schema_is_no_parameter() -> None:
    record = record_of({"toolSpec": {"name": "find", "inputSchema": {"json": {}}}})
    assert (record.input_schema, record.parameters) == ({}, ())


def test_hints_and_a_title_are_kept_a_record_keeps_its_id_and_is_given_its_parameter_rows() -> None:
    titled = record_of({"name": "mail", "inputSchema": SCHEMA, "annotations": ANNOTATIONS})
    assert (titled.tool_id, titled.provider, titled.description) == ("mail", None, "Mail")
    assert titled.annotations == ANNOTATIONS
    record = ToolRecord("own:id", "acme", "mail", "", input_schema=MappingProxyType(SCHEMA))
    made = record_of(record, "other")
    assert (made.tool_id, made.provider, made.parameters[0].path) == ("own:id", "acme", "to")
    assert ToolRecord.from_json(json.loads(json.dumps(made.to_json()))) == made


@pytest.mark.parametrize(
    "row",
    [
        {"type": "custom", "input_schema": {"type": "object"}},  # Anthropic's own tools
        {"type": "mcp", "description": "Whoever calls its rows so."},
        {"type": "shell", "parameters": {"command": {"type": "string"}}},
        {"type": "function"},
    ],
)
def test_a_type_alone_does_not_make_a_tool_a_hosted_one(row: dict[str, Any]) -> None:
    assert record_of({"name": "run", **row}).name == "run"


def test_a_definition_may_be_changed_afterwards() -> None:
    definition: dict[str, Any] = json.loads(json.dumps(FORMS["MCP"]))
    record = record_of(definition)
    definition["inputSchema"]["properties"].clear()
    assert record.input_schema == SCHEMA


def test_of_duplicates_one_is_kept_and_another_tool_of_an_id_is_numbered() -> None:
    names = ["a b", "a-b", "a b", "a/b"]
    records = read_tools([{"name": name} for name in names], "x").records
    ids = {record.tool_id: record.name for record in records}
    assert ids == {"x/a-b": "a b", "x/a-b~2": "a-b", "x/a-b~3": "a/b"}
    taken = [ToolRecord(tool_id, "x", "a", text) for tool_id, text in (("x/a~2", "1"), ("x/a", "2"), ("x/a", "3"))]
    assert [record.tool_id for record in read_tools(taken).records] == ["x/a~2", "x/a", "x/a~3"]
    raws = [RawTool(name, Origin("", ""), provider="x") for name in names]
    assert [record.tool_id for record in catalog_records(raws).records] == list(ids)


@pytest.mark.parametrize(
    ("provider", "name", "expected"),
    [
        (" stripe ", " list_charges ", "stripe/list_charges"),
        ("  ", "list_charges", "list_charges"),
        ("v1.2", "get_/people/{id}", "v1.2/get_-people-id-"),
        ("a", "x -- / -- y", "a/x-y"),
        ("a", "顧客list", "a/-list"),
        ("天気", "予報", "u5929-u6c17/u4e88-u5831"),
        ("a", "///", "a/u002f-u002f-u002f"),
    ],
)
def test_an_id_is_provider_and_name_in_a_few_characters(provider: str, name: str, expected: str) -> None:
    assert record_of({"name": name}, provider).tool_id == expected


def test_texts_are_stripped_and_categories_are_split_at_commas_and_named_once() -> None:
    row = {"name": " a ", "description": "\n B. ", "categories": ["AI & ML, b ,", "b,c"], "examples": [" pull ", "  "]}
    record = record_of(row)
    assert (record.name, record.description, record.examples) == ("a", "B.", ("pull",))
    assert record.categories == ("AI & ML", "b", "c")


DEEP: dict[str, Any] = {}
for _ in range(300):
    DEEP = {"items": DEEP}
CIRCLE: dict[str, Any] = {"name": "mail"}
CIRCLE["parameters"] = CIRCLE


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        ({}, "name is missing or empty"),
        ({"name": 3}, "the tool 3 cannot be used: name is a number, not a text"),
        ({"type": "function", "function": {"name": "mail", "parameters": "x"}}, "parameters is a text, not an object"),
        ({"name": "mail", "parameters": {"default": float("nan")}}, "it is not JSON"),
        ({"name": "mail", "parameters": {"default": object()}}, "object is not JSON"),
        ({"name": "mail", "parameters": {"default": "x" * 1_000_000}}, "more than 1,000,000"),
        ({"name": "mail", "parameters": DEEP}, "nested more than 200 levels deep"),
        (CIRCLE, "it is not JSON: Circular"),
        ("mail", "a definition is an object, this is str"),
        # Providers' own tools, and OpenAI's that takes a text.
        *(
            ({"type": kind, **more}, f"'{kind}' is no function: a hosted tool is switched on at its provider")
            for kind, more in (
                *(("web_search_20250305", {"name": "web_search", "max_uses": 5}), ("web_search_preview", {})),
                *(
                    ("computer_20250124", {"name": "computer", "display_width_px": 1}),
                    ("code_interpreter", {"container": {}}),
                ),
                *(("bash_20250124", {"name": "bash"}), ("text_editor_20250728", {"name": "edit"}), ("file_search", {})),
                *(("mcp", {"server_label": "x", "server_url": "https://x.example"}), ("image_generation", {})),
                *(
                    ("local_shell", {}),
                    ("web_search_2025_08_26", {}),
                    ("tool_search_tool_bm25_20251119", {"name": "b"}),
                ),
                ("custom", {"name": "code", "description": "Runs code.", "format": {"type": "text"}}),
            )
        ),
        (ToolRecord("", None, "mail", ""), "tool_id is missing or empty"),
        (ToolRecord("mail", None, 3, ""), r"Expected `str`, got `int` - at `\$.name`"),  # type: ignore[arg-type]
        (ToolRecord("mail", None, "mail", "", input_schema=[1]), "it is no record"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_definition_is_refused_with_the_field(definition: Any, said: str) -> None:
    with pytest.raises(SettingsInvalid, match=said):
        record_of(definition)


KEYS = (
    "name description parameters inputSchema outputSchema annotations function title args arguments inputs "
    "schema required category examples provider id tools"
)


@given(st.dictionaries(st.sampled_from(KEYS.split()), hostile_json(KEYS), max_size=6))
def test_whatever_comes_is_a_storable_record_or_refused(definition: dict[str, Any]) -> None:
    try:
        record = record_of(definition, "x")
    except SettingsInvalid:
        return
    json.dumps(record.to_json(), allow_nan=False, ensure_ascii=False).encode()
    assert record.name and record.tool_id.startswith("x/")
