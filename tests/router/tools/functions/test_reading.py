"""Lists of tools of every kind: records, ids, functions, and what is told."""

import asyncio
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import mcp_types
import pytest
from agents import function_tool as agents_tool
from langchain_core.tools import StructuredTool
from langchain_core.tools import tool as langchain_tool

from router.errors import SettingsInvalid
from router.record import Origin
from router.tools.functions.reading import read_tools
from tests.support.factories import make_record


def search(query: str) -> str:
    """Search the documents."""
    return query


OPENAI = {
    "type": "function",
    "function": {"name": "search", "description": "Search the documents.", "parameters": {"type": "object"}},
}
MCP = mcp_types.Tool(
    name="search",
    description="Search the documents.",
    input_schema={"type": "object", "properties": {"query": {"type": "string"}}},
    annotations=mcp_types.ToolAnnotations(read_only_hint=True),
)


MCP_ROW = MCP.model_dump(by_alias=True, exclude_none=True)


@langchain_tool
def langchain_search(query: str) -> str:
    """Search the documents."""
    return f"found {query}"


@langchain_tool
async def async_search(query: str) -> str:
    """Search the documents."""
    return f"found {query}"


class Duck:
    """A tool of a framework that nobody here has heard of."""

    name = "search"
    description = "Search the documents."
    parameters: Mapping[str, Any] = {"type": "object", "properties": {"query": {"type": "string"}}}


@pytest.mark.parametrize(
    "tool",
    [search, OPENAI, OPENAI["function"], MCP, MCP_ROW, make_record("search", None), Duck()],
    ids=["function", "openai", "bare", "mcp", "mcp row", "record", "duck"],
)
def test_each_kind_of_tool_is_one_record(tool: Any) -> None:
    (record,) = read_tools([tool]).records
    assert (record.tool_id, record.name) == ("search", "search")
    assert record.description in ("Search the documents.", "Returns charges.")


def test_an_answer_of_an_mcp_server_is_its_list_with_schemas_and_hints() -> None:
    for answer in (mcp_types.ListToolsResult(tools=[MCP]), {"tools": [MCP_ROW], "nextCursor": None}):
        (record,) = read_tools(answer, "docs").records
        assert (record.tool_id, record.annotations) == ("docs/search", {"readOnlyHint": True})
        assert [parameter.path for parameter in record.parameters] == ["query"]


async def await_it(awaitable: Any) -> Any:
    return await awaitable


def test_tools_of_langchain_and_of_openais_agents_sdk_are_read_and_called() -> None:
    schema = {"title": "Search", "type": "object", "properties": {"query": {"type": "string"}}}
    by_schema = StructuredTool(name="by_schema", description="Search.", args_schema=schema, func=search)
    read = read_tools([langchain_search, async_search, by_schema, agents_tool(search)])
    assert [[*record.input_schema["properties"]] for record in read.records] == [["query"]] * 4
    assert read.functions["langchain_search"](query="x") == "found x"
    assert asyncio.run(await_it(read.functions["async_search"](query="x"))) == "found x"


def test_a_mapping_gives_each_list_its_provider() -> None:
    read = read_tools({"docs": [search], "web": [search]})
    assert [record.tool_id for record in read.records] == ["docs/search", "web/search"]
    assert read.functions["docs/search"] is search
    assert not read.notes


def sort(rows: SettingsInvalid) -> None: ...


def hidden(*args: int, **kwargs: str) -> None:
    """A decorator without functools.wraps."""


PAGED = "tools is one page of several, it has a nextCursor: the tools of the others are not here"
BESIDE = "'other': not read, as 'tools' beside it is taken for the list of tools"
TAKEN = "tools[1]: the id search is taken, this tool is served as search~2"
TWICE = "tools[2]: search is there already, word for word: it is served once"
UNNAMED = "tools[0], hidden: it takes *args, **kwargs and no named parameter, so a model can give it nothing"


@pytest.mark.parametrize(
    ("tools", "ids", "notes"),
    [
        ({"tools": [MCP], "nextCursor": "2"}, ["search"], [PAGED]),
        ({"tools": [search], "other": [search]}, ["search"], [BESIDE]),
        ({"function": [search]}, ["function/search"], []),  # the name of a provider
        ([search, OPENAI, search], ["search", "search~2"], [TAKEN, TWICE]),
        ([sort], ["sort"], ["tools[0], sort: rows: JSON has no form for SettingsInvalid, any value is taken"]),
        ([hidden], ["hidden"], [UNNAMED]),
    ],
    ids=["page", "two lists", "function", "one id", "any value", "unnamed"],
)
def test_what_is_not_served_as_it_was_given_is_told(tools: Any, ids: list[str], notes: list[str]) -> None:
    read = read_tools(tools)
    assert [record.tool_id for record in read.records] == ids
    assert [*read.notes] == notes


def test_origins_say_where_a_function_is_defined() -> None:
    (record,) = read_tools([search]).records
    assert record.origin == Origin(search.__module__, "search")
    (part,) = read_tools([partial(search)]).records
    assert part.origin == record.origin
    own = make_record(origin=Origin("tools.json", "/0"))
    assert read_tools([own]).records[0].origin == own.origin


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([search, 5], r"tools\[1\]: 5 of type int is no tool: it must be a function, a definition"),
        (["search"], r"tools\[0\]: a text is no tool"),
        ([search, lambda x: x], r"tools\[1\]: a lambda has no name"),
        ([{"description": "no name"}], r"tools\[0\]: .*name is missing"),
        ({"docs": [search, 5]}, r"tools\['docs'\]\[1\]: 5 of type int is no tool"),
        ({"docs": search}, r"tools\['docs'\] is <function search.*it must be a list of tools"),
        (search, "tools is one tool, it must be a list"),
        ("search", "tools is 'search', it must be a list of tools"),
        ({"openapi": "3.1.0", "paths": {}}, "tools is an OpenAPI document: a build reads those"),
    ],
    ids=lambda value: None if isinstance(value, str) else "",
)
def test_what_is_no_tool_is_refused_with_its_place(tools: Any, message: str) -> None:
    with pytest.raises(SettingsInvalid, match=message):
        read_tools(tools, strict=True)


MIXED: list[Any] = [
    ([search, 5], ["search"], r"tools\[1\]: 5 of type int is no tool.*; it is not served"),
    (
        {"docs": [{"name": 7}, search]},
        ["docs/search"],
        r"tools\['docs'\]\[0\]: the tool 7 cannot be used: name is a number",
    ),
    (
        [{"name": "mail", "tools": [{"name": "send"}, {"name": ""}]}],
        ["mail/send"],
        r"tools\[0\]/tools/1: .*name is missing",
    ),
    (
        {"tools": [{"type": "web_search_preview"}, {"name": "a"}]},
        ["a"],
        r"tools\[0\]: .*'web_search_preview' is no function",
    ),
]


@pytest.mark.parametrize(("tools", "ids", "note"), MIXED)
def test_one_that_is_no_tool_is_left_out_and_told_and_where_no_other_is_left_refused(
    tools: Any, ids: list[str], note: str
) -> None:
    read = read_tools(tools)
    assert [record.tool_id for record in read.records] == ids
    assert len(read.notes) == 1 and re.match(note, read.notes[0])
    with pytest.raises(SettingsInvalid, match=note.removesuffix("; it is not served")):
        read_tools(tools, strict=True)
    with pytest.raises(SettingsInvalid, match="5 of type int is no tool"):
        read_tools([5, {"name": ""}])
