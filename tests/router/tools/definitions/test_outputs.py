"""What a tool answers: the rows of its output schema, wherever a definition declares it, within narrow limits."""

import itertools
import time
from typing import Any

import pytest
from hypothesis import given

from router.record import Parameter as Row
from router.tools.definitions import record_of
from router.tools.definitions.rows import output_rows
from tests.support.hostile_json import hostile_json

PERSON = {"type": "object", "properties": {"id": {"type": "string", "description": " Its id. "}}, "required": ["id"]}
KEYS = "outputSchema output_schema returns response responseJsonSchema response_schema outputs"
ROWS = (Row("id", "string", "Its id.", required=True),)


def _properties(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    "definition",
    [
        *({"name": "find", "parameters": {}, key: PERSON} for key in KEYS.split()),
        {"toolSpec": {"name": "find", "outputSchema": {"json": PERSON}}},
        {"type": "function", "function": {"name": "find", "output_schema": PERSON}},
        {"type": "function", "function": {"name": "find"}, "output_schema": PERSON},
        {"name": "find", "response": {"type": "OBJECT", "properties": PERSON["properties"], "required": ["id"]}},
        {"name": "find", "output_parameters": {"id": {"type": "string", "description": "Its id.", "required": True}}},
    ],
)
def test_outputs_are_read_in_the_formats_of_vendors(definition: dict[str, Any]) -> None:
    record = record_of(definition)
    assert (record.outputs, record.input_schema, record.parameters) == (ROWS, {}, ())


@pytest.mark.parametrize("value", ["the weather", {"200": {"description": "fine"}}, ["id"], {"type": "string"}])
def test_an_uncertain_key_that_holds_no_schema_of_an_object_is_no_output(value: Any) -> None:
    assert record_of({"name": "find", "returns": value}).outputs == ()


OWNER = _properties(id={"type": "integer"}, name={"type": "string"})
DATA = {"type": "array", "items": _properties(owner=OWNER, id={"type": "string"})}
LISTED = {"type": "array", "items": {"allOf": [{"$ref": "#/$defs/Person"}, _properties(age={"type": "integer"})]}}
DEEP: Any = {}
for _ in range(40):
    DEEP = _properties(x=DEEP)


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        (
            _properties(data=DATA, next={}),  # the top of the answer first
            ["data", "next", "data[].owner", "data[].id", "data[].owner.id", "data[].owner.name"],
        ),
        ({**LISTED, "$defs": {"Person": PERSON}}, ["[].id", "[].age"]),
        (
            {"$ref": "#/$defs/Node", "$defs": {"Node": _properties(id={}, parent={"$ref": "#/$defs/Node"})}},
            ["id", "parent"],
        ),
        ({"$ref": "#/$defs/None"}, []),
        (DEEP, [".".join("x" * depth) for depth in range(1, 7)]),
    ],
    ids=["nested", "list of combined", "cycle", "dangling", "deep"],
)
def test_rows_are_in_document_order_to_some_depth_and_cycles_are_cut(schema: Any, paths: list[str]) -> None:
    assert [row.path for row in output_rows(schema)] == paths


def test_a_type_may_be_one_of_several() -> None:
    either = {"anyOf": [{"$ref": "#/$defs/Person"}, {"type": "null"}]}
    schema = {**_properties(person=either, size={"type": ["integer", "null"]}), "$defs": {"Person": PERSON}}
    assert [row.type for row in output_rows(schema)[:2]] == ["object|null", "integer|null"]


def _wide() -> Any:
    return _properties(**{f"field_{n}": {"type": "string", "enum": ["a" * 500] * 500} for n in range(20_000)})


def _long() -> Any:
    text = "x" * 1_000_000
    return _properties(**{f"field_{n}": {"type": text, "description": text} for n in range(200)}, **{text: {}})


def _branching() -> Any:
    """Each level has twenty branches, which all lead back to every level."""
    branches = [{"$ref": f"#/$defs/{number}"} for number in range(20)] * 1_000
    return {"anyOf": branches, "$defs": {str(number): {"anyOf": branches} for number in range(20)}}


def _chained() -> Any:
    names = ["n" * 900 + str(number) for number in range(5_000)]
    links = {name: {"$ref": f"#/$defs/{after}"} for name, after in itertools.pairwise(names)}
    return {**_properties(**{f"f{n}": {"$ref": f"#/$defs/{names[0]}"} for n in range(100)}), "$defs": links}


@pytest.mark.parametrize("make", [_wide, _long, _branching, _chained])
def test_a_hostile_schema_costs_little_and_gives_few_short_rows(make: Any) -> None:
    schema = make()
    started = time.perf_counter()
    rows = output_rows(schema)
    assert time.perf_counter() - started < 1  # about 10 ms
    assert len(rows) <= 100
    assert sum(len(row.path) + len(row.type) + len(row.description) + sum(map(len, row.enum)) for row in rows) < 120_000


WORDS = "properties items anyOf $ref type enum required description a"


@given(hostile_json(WORDS, "#", "#/a", "#/properties/a", "string"))
def test_no_value_breaks_the_reader(value: Any) -> None:
    rows = output_rows(value)
    assert len({row.path for row in rows}) == len(rows)
