"""The forms held against the real packages of those who take them."""

from itertools import product
from typing import Any

import pytest
from openai.types.chat import ChatCompletionFunctionToolParam
from openai.types.responses import FunctionToolParam
from pydantic import BaseModel, Field, TypeAdapter

from router.provider_formats.formats import Detail, FormName, ProviderFormat
from router.provider_formats.rendering import render
from tests.support.factories import TOOLS, make_record


class Line(BaseModel):
    """One line."""

    quantity: int = Field(ge=1, description="How many.")
    note: str | None = None


class Order(BaseModel):
    """An order."""

    customer: str
    lines: list[Line]
    parent: "Order | None" = None
    kind: str = "plain"


RECORDS = [
    *(make_record(tool["name"], tool["provider"], input_schema=tool["parameters"]) for tool in TOOLS),
    make_record("order", input_schema=Order.model_json_schema(), annotations={"title": "Order", "readOnlyHint": False}),
    make_record("anything", input_schema={}),
]


@pytest.mark.parametrize(
    ("form", "kind"), [("openai", ChatCompletionFunctionToolParam), ("responses", FunctionToolParam)]
)
def test_openais_types_take_the_tools(form: FormName, kind: Any) -> None:
    taken = TypeAdapter(kind)
    for strict, detail in product((False, True), Detail):
        for tool in render(RECORDS, form, strict=strict, detail=detail).tools:
            assert taken.validate_python(tool) == tool


def test_a_strict_schema_of_a_model_is_that_of_openais_own_package() -> None:
    from openai.lib._pydantic import to_strict_json_schema

    class Plain(BaseModel):
        charge: str
        lines: list[Line]

    ours = render([make_record(input_schema=Plain.model_json_schema())], "openai", strict=True).tools[0]["function"]
    theirs = to_strict_json_schema(Plain)
    # Theirs leaves titles, and requires what has a default without letting it be null.
    line = ours["parameters"]["$defs"]["Line"]
    assert line["required"] == theirs["$defs"]["Line"]["required"] and line["additionalProperties"] is False
    assert ours["parameters"]["required"] == theirs["required"]
    assert ours["parameters"]["properties"]["lines"] == {"type": "array", "items": {"$ref": "#/$defs/Line"}}


@pytest.mark.parametrize("detail", Detail)
def test_mcps_types_take_the_tools(detail: Detail) -> None:
    from mcp_types import Tool

    for tool in render(RECORDS, ProviderFormat.MCP, detail=detail).tools:
        taken = Tool.model_validate(tool)
        assert taken.model_dump(by_alias=True, exclude_none=True, mode="json") == tool


def test_langchain_takes_the_tools_as_openais_and_makes_one_of_the_three_parts() -> None:
    from langchain_core.tools import StructuredTool
    from langchain_core.utils.function_calling import convert_to_openai_tool

    chat = render(RECORDS, ProviderFormat.OPENAI, strict=True).tools
    for tool, same in zip(render(RECORDS, ProviderFormat.LANGCHAIN, strict=True).tools, chat, strict=True):
        assert convert_to_openai_tool(tool) == same

    called: list[dict[str, Any]] = []
    rendered = render(RECORDS, ProviderFormat.LANGCHAIN)
    tool = next(tool for tool in rendered.tools if tool["name"] == "stripe__create_refund")
    parts = {"name": tool["name"], "description": tool["description"], "args_schema": tool["parameters"]}
    made = StructuredTool(**parts, func=lambda **arguments: called.append(arguments))
    assert convert_to_openai_tool(made)["function"] == tool
    made.invoke({"charge": "ch_1"})
    assert called == [{"charge": "ch_1"}]
