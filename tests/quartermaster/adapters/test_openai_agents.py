"""Tools of an answer as FunctionTools of the OpenAI Agents SDK."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

pytest.importorskip("agents", reason="the extra agents is not installed")

from agents import FunctionTool

from quartermaster.adapters.openai_agents import function_tools
from router import RoutedTool, RoutedTools, ToolRecord

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}


def test_strict_mode_is_asked_for_where_a_schema_has_it_and_its_nulls_do_not_reach_the_tool() -> None:
    schemas: dict[str, Mapping[str, Any]] = {"days": SCHEMA, "any": {"type": "object", "properties": {"a": {}}}}
    records = [ToolRecord(f"weather/{name}", "weather", name, "", (), schema) for name, schema in schemas.items()]
    routed = RoutedTools(tuple(RoutedTool(r.tool_id, r, 1.0) for r in records), "snapshot", "recipe")
    called: list[Mapping[str, Any]] = []

    def functions(strict: bool) -> list[FunctionTool]:
        tools = function_tools(routed, lambda _, given: called.append(given), strict=strict)
        return [tool for tool in tools if isinstance(tool, FunctionTool)]

    assert [tool.strict_json_schema for tool in functions(False)] == [False, False]
    days, loose = functions(True)
    assert days.strict_json_schema and days.params_json_schema["required"] == ["city", "days"]
    assert not loose.strict_json_schema
    asyncio.run(days.on_invoke_tool(None, '{"city": "Oslo", "days": null}'))  # type: ignore[arg-type]
    assert called == [{"city": "Oslo"}]
