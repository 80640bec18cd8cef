"""Lists of tools of every kind: records, ids, functions, and what is told."""

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
from router.tools.functions import read_tools
from tests.support.factories import make_record


def search(query: str) -> str:
    """Search the documents."""
    return query


def other_search() -> Any:
    def search(query: str, limit: int = 3) -> str:
        """Search the web."""
        return query * limit

    return search


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
    [search, OPENAI, OPENAI["function"], MCP, MCP.model_dump(by_alias=True), make_record("search", None), Duck()],
    ids=["function", "openai", "bare", "mcp", "mcp row", "record", "duck"],
)
def test_each_kind_of_tool_is_one_record(tool: Any) -> None:
    (record,) = read_tools([tool]).records
    assert (record.tool_id, record.name) == ("search", "search")
    assert record.description in ("Search the documents.", "Returns charges.")


def test_an_mcp_object_keeps_its_schema_and_hints() -> None:
    (record,) = read_tools([MCP], "docs").records
    assert record.tool_id == "docs/search"
    assert [parameter.path for parameter in record.parameters] == ["query"]
    assert record.annotations == {"readOnlyHint": True}


@pytest.mark.parametrize(
    "answer",
    [
        mcp_types.ListToolsResult(tools=[MCP]),
        {"tools": [MCP.model_dump(by_alias=True)], "nextCursor": None},
    ],
    ids=["object", "json"],
)
def test_an_answer_of_an_mcp_server_is_its_list(answer: Any) -> None:
    assert [record.tool_id for record in read_tools(answer, "docs").records] == ["docs/search"]


def test_langchain_tools_are_read_and_called_by_invoke() -> None:
    read = read_tools([langchain_search])
    assert read.records[0].input_schema["properties"].keys() == {"query"}
    assert read.functions["langchain_search"](query="x") == "found x"


async def await_it(awaitable: Any) -> Any:
    return await awaitable


def test_an_async_langchain_tool_is_called_by_ainvoke() -> None:
    import asyncio

    function = read_tools([async_search]).functions["async_search"]
    assert asyncio.run(await_it(function(query="x"))) == "found x"


def test_a_langchain_tool_with_a_json_schema_is_read() -> None:
    schema = {"title": "Search", "type": "object", "properties": {"query": {"type": "string"}}}
    tool = StructuredTool(name="search", description="Search.", args_schema=schema, func=search)
    (record,) = read_tools([tool]).records
    assert record.input_schema == {"type": "object", "properties": {"query": {"type": "string"}}}


def test_tools_of_openais_agents_sdk_are_read() -> None:
    (record,) = read_tools([agents_tool(search)]).records
    assert record.input_schema["required"] == ["query"]


def test_a_mapping_gives_each_list_its_provider() -> None:
    read = read_tools({"docs": [search], "web": [other_search()]})
    assert [record.tool_id for record in read.records] == ["docs/search", "web/search"]
    assert read.functions["docs/search"] is search
    assert not read.notes


@pytest.mark.parametrize(
    "answer",
    [{"tools": [MCP], "nextCursor": "2"}, mcp_types.ListToolsResult(tools=[MCP], next_cursor="2")],
)
def test_a_page_of_several_is_told(answer: Any) -> None:
    assert read_tools(answer).notes == (
        "tools is one page of several, it has a nextCursor: the tools of the others are not here",
    )


def test_a_list_beside_the_list_of_tools_is_told() -> None:
    read = read_tools({"tools": [search], "other": [other_search()]})
    assert read.notes == ("'other': not read, as 'tools' beside it is taken for the list of tools",)


def test_a_provider_may_be_called_function() -> None:
    (record,) = read_tools({"function": [search]}).records
    assert record.tool_id == "function/search"


def test_the_second_tool_of_a_name_is_numbered_and_told() -> None:
    web = other_search()
    read = read_tools([search, OPENAI, web])
    assert [record.tool_id for record in read.records] == ["search", "search~2", "search~3"]
    assert dict(read.functions) == {"search": search, "search~3": web}
    assert read.notes == (
        "tools[1]: the id search is taken, this tool is served as search~2",
        "tools[2]: the id search is taken, this tool is served as search~3",
    )


def test_a_tool_that_is_there_twice_is_served_once_and_told() -> None:
    read = read_tools([search, search])
    assert len(read.records) == 1
    assert read.functions == {"search": search}
    assert read.notes == ("tools[1]: search is there already, word for word: it is served once",)


def test_a_parameter_of_any_value_is_told_with_its_tool() -> None:
    def sort(rows: SettingsInvalid) -> None: ...

    assert read_tools([sort], "docs").notes == (
        "tools[0], docs/sort: rows: JSON has no form for SettingsInvalid, any value is taken",
    )


def test_a_function_of_unnamed_parameters_alone_is_told() -> None:
    def hidden(*args: int, **kwargs: str) -> None:
        """A decorator without functools.wraps."""

    assert read_tools([hidden]).notes == (
        "tools[0], hidden: it takes *args, **kwargs and no named parameter, so a model can give it nothing",
    )


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
        ([None], r"tools\[0\]: None is no tool: it must be"),
        (["search"], r"tools\[0\]: a text is no tool"),
        ([search, lambda x: x], r"tools\[1\]: a lambda has no name"),
        ([{"description": "no name"}], r"tools\[0\]: .*name is missing"),
        ([dict.update], r"tools\[0\]: .*no signature"),
        ({"docs": [search, 5]}, r"tools\['docs'\]\[1\]: 5 of type int is no tool"),
        ({"docs": search}, r"tools\['docs'\] is <function search.*it must be a list of tools"),
        (search, "tools is one tool, it must be a list"),
        (OPENAI, "tools is one tool, it must be a list"),
        (OPENAI["function"], "tools is one tool, it must be a list"),
        (make_record(), "tools is one tool, it must be a list"),
        ("search", "tools is 'search', it must be a list of tools"),
        (None, "tools is None, it must be a list of tools"),
        (b"search", "tools is b'search', it must be a list of tools"),
        ({"openapi": "3.1.0", "paths": {}}, "tools is an OpenAPI document: a build reads those"),
    ],
    ids=lambda value: None if isinstance(value, str) else "",
)
def test_what_is_no_tool_is_refused_with_its_place(tools: Any, message: str) -> None:
    with pytest.raises(SettingsInvalid, match=message):
        read_tools(tools)
