"""Where tools lie in a document, and whose they are."""

from typing import Any

import pytest
from hypothesis import given

from router.tools.definitions.nesting import definitions_within, find_definitions, unfinished_lists
from router.tools.functions.reading import read_tools
from tests.support.hostile_json import hostile_json

A, B = {"name": "a", "description": "Does a."}, {"name": "b", "inputSchema": {}}
X, Y = {"name": "x", "tools": [A]}, {"name": "y", "tools": [A]}


def found(document: Any) -> list[tuple[str, Any, str | None]] | None:
    tools = find_definitions(document)
    return None if tools is None else [(one.pointer, one.row["name"], one.provider) for one in tools]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (A, [("/0", "a", None)]),
        ({"server": {"name": "git"}, "tools": [A]}, [("/tools/0", "a", "git")]),
        ({"name": "set", "serverInfo": {"name": "git"}, "tools": [A]}, [("/tools/0", "a", "git")]),
        ({"serverInfo": {"name": "git"}, "result": {"tools": [A]}}, [("/result/tools/0", "a", "git")]),
        ([X, B], [("/0/tools/0", "a", "x"), ("/1", "b", None)]),
        ({"name": "hub", "servers": [{"tools": [A]}]}, [("/servers/0/tools/0", "a", None)]),
        ({"mcpServers": {"x/y": {"tools": [A]}}}, [("/mcpServers/x~1y/tools/0", "a", "x/y")]),
        ({"x": [A], "y": [B]}, [("/x/0", "a", "x"), ("/y/0", "b", "y")]),
        ({"tools": {"a": {"description": "Does a."}}}, [("/tools/a", "a", None)]),
        ([], []),
        ({"result": {"tools": []}}, []),
        # A tool with tools, and one with hammers, is a tool.
        ([{"name": "a", "tools": [A], "parameters": {}}], [("/0", "a", None)]),
        ([{"name": "a", "tools": ["hammer"]}], [("/0", "a", None)]),
    ],
)  # fmt: skip
def test_tools_are_found_with_their_pointers_and_their_providers(document: Any, expected: Any) -> None:
    assert found(document) == expected


def nested(depth: int) -> Any:
    return [A] if depth == 0 else {"tools": nested(depth - 1)}


NO_TOOLS = [
    *({}, {"tools": "x"}, {"tools": {}}, {"tools": None}, {"result": {}}, {"a": 1}, "tools", 7, None),
    {"info": {"title": "Office", "description": "An API."}},
    [{"tools": [A]}, {"tools": None}],  # a page that was cut off
    {"mcpServers": {"fs": {"command": "npx", "args": ["server"], "description": "Files."}}},
    nested(190),
]


@pytest.mark.parametrize("document", NO_TOOLS, ids=range(len(NO_TOOLS)))
def test_what_holds_no_tools_is_none(document: Any) -> None:
    assert found(document) is None


def test_a_row_holds_its_tools_or_is_one() -> None:
    assert [(one.pointer, one.provider) for one in definitions_within({"name": "x", "tools": [A, B]}, "line 3")] == [
        ("line 3/tools/0", "x"),
        ("line 3/tools/1", "x"),
    ]
    assert [[one.row for one in definitions_within(row, "line 3")] for row in (A, 7)] == [[A], [7]]


PAGE = {"tools": [A], "nextCursor": "b"}
LAST = {"tools": [B]}


@pytest.mark.parametrize(
    ("document", "places"),
    [
        (PAGE, ["/nextCursor"]),
        ({"jsonrpc": "2.0", "result": PAGE}, ["/result/nextCursor"]),
        ([PAGE, LAST], []),
        ([LAST, {"result": PAGE}], ["/1/result/nextCursor"]),
        ([{"name": "x", **PAGE}, {"name": "y", **LAST}], ["/0/nextCursor"]),
        ({"servers": {"x": PAGE, "y": LAST}}, ["/servers/x/nextCursor"]),
        ({"tools": [A], "has_more": True}, ["/has_more"]),
        ({"data": [A], "next_cursor": "x"}, ["/next_cursor"]),  # of a shape that a catalog maps
        ({"data": [A], "metadata": {"nextCursor": "x"}}, ["/metadata/nextCursor"]),
        ({"data": [A], "links": {"next": "/a?page=2"}}, ["/links/next"]),
        ({"data": [A], "links": {"next": {"href": "?page=2"}}}, ["/links/next/href"]),
        ({"tools": [A], "_links": {"next": {"href": "https://a.example/2"}}}, ["/_links/next/href"]),
        ({"value": [A], "@odata.nextLink": "http://a.example/2"}, ["/@odata.nextLink"]),
        ({"results": [A], "next": "https://a.example/2"}, ["/next"]),
        *(({"tools": [A], "next": end}, []) for end in (None, "", A)),
        *(({"tools": [A], "nextCursor": end}, []) for end in (None, "", {"type": "string"})),
        *((document, []) for document in ([], [A], {"a": 1}, 7, None)),
    ],
)
def test_a_cursor_or_link_to_pages_that_the_document_lacks_is_found(document: Any, places: list[str]) -> None:
    assert [place for place, _ in unfinished_lists(document)] == places


OWN_ID = {"id": "stripe/refund", "provider": "stripe", "name": "refund"}


@pytest.mark.parametrize(
    ("definitions", "label", "ids"),
    [
        ([X, Y, B], None, ["x/a", "y/a", "b"]),
        # A label wins, as in a build: then they are one server's, and alike. Nobody takes another's id under one.
        ([X, Y, B], "ours", ["ours/a", "ours/b"]),
        ([OWN_ID], "evil", ["evil/refund"]),
        ([OWN_ID], None, ["stripe/refund"]),
    ],
)
def test_at_run_time_servers_may_be_given_with_their_tools(definitions: Any, label: str | None, ids: list[str]) -> None:
    assert [record.tool_id for record in read_tools(definitions, label).records] == ids


KEYS = "tools servers result name description parameters serverInfo function x"


@given(hostile_json(KEYS, A))
def test_whatever_a_document_is_its_tools_are_listed_once(document: Any) -> None:
    tools = find_definitions(document)
    if tools is not None:
        assert len({one.pointer for one in tools}) == len(tools)
