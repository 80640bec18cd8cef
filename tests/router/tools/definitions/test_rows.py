"""A JSON Schema to rows: of its parameters, and of what a tool answers, within narrow limits."""

import time
from typing import Any

import pytest
from hypothesis import given

from router.record import Parameter as Row
from router.tools.definitions.reading import record_of
from router.tools.definitions.rows import output_rows, parameter_rows
from tests.support.hostile_json import hostile_json


def _properties(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _one(schema: Any, **root: Any) -> Row:
    """The first row of a schema with one property, `x`."""
    return parameter_rows({**_properties(x=schema), **root})[0]


def test_a_row_says_path_type_description_values_and_whether_required_nested_ones_depth_first() -> None:
    status = {"type": "string", "description": " Which charges. ", "enum": ["paid", "failed"]}
    customer = _properties(
        addresses={"type": "array", "items": {**_properties(city={}), "required": ["city"]}}, name={}
    )
    matrix = {"type": "array", "items": {"type": "array", "items": _properties(cell={"type": "number"})}}
    schema = {**_properties(status=status, customer=customer, matrix=matrix), "required": ["status"]}
    assert parameter_rows(schema) == (
        Row("status", "string", "Which charges.", ("paid", "failed"), True),
        Row("customer", "object"),
        Row("customer.addresses", "array"),
        Row("customer.addresses[].city", "", required=True),
        Row("customer.name", ""),
        Row("matrix", "array"),
        Row("matrix[][].cell", "number"),
    )
    assert parameter_rows({"properties": []}) == parameter_rows({"items": [1]}) == ()


_DEFINITIONS = {
    "Size": {"enum": ["s", "m"]},
    "Model": _properties(a={}),
    "Both": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Model"}]},
}


@pytest.mark.parametrize(
    ("schema", "row"),
    [
        ({"enum": ["a", 1, None, True, {"b": [1.5]}]}, Row("x", "", "", ("a", "1", "null", "true", '{"b":[1.5]}'))),
        ({"type": "array", "items": {"$ref": "#/$defs/Size"}}, Row("x", "array", "", ("s", "m"))),
        ({"$ref": "#/$defs/Size"}, Row("x", "", "", ("s", "m"))),
        ({"enum": "a"}, Row("x", "")),
        ({"type": ["string", "null"]}, Row("x", "string|null")),
        ({"oneOf": [{"anyOf": [{"type": "string"}]}, {"type": "null"}, True]}, Row("x", "string|null")),
        ({"anyOf": [{"$ref": "#/$defs/Model"}, {"type": "null"}]}, Row("x", "object|null")),
        ({"$ref": "#/$defs/Both"}, Row("x", "string|object")),
        # A vendor's plain text, and what is nothing usable.
        (" the city's name ", Row("x", "", "the city's name")),
        (None, Row("x", "")),
        ({"description": 7, "required": True}, Row("x", "")),
    ],
)
def test_a_row_says_what_its_schema_its_items_its_branches_and_its_references_say(schema: Any, row: Row) -> None:
    assert _one(schema, **{"$defs": _DEFINITIONS}) == row


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf", "allOf"])
def test_branches_give_their_rows_once(keyword: str) -> None:
    card = {**_properties(kind={"type": "string"}, number={"type": "string"}), "required": ["number"]}
    bank = _properties(kind={"type": "string"}, iban={"type": "string"})
    expected = (Row("kind", "string"), Row("number", "string", required=True), Row("iban", "string"))
    assert parameter_rows({keyword: [card, bank, True, None]}) == expected


def test_references_are_followed_and_the_words_beside_them_win() -> None:
    city = {"type": "string", "description": "A city."}
    root = {"$defs": {"City": city}, "definitions": {"a/b~c d": {"type": "null"}}}
    schema = _properties(
        start={"$ref": "#/$defs/City"},
        end={"$ref": "#/$defs/City", "description": "Where to."},
        odd={"$ref": "#/definitions/a~1b~0c%20d"},
        branch={"$ref": "#/anyOf/1"},
    )
    assert parameter_rows({**schema, **root, "anyOf": [True, {"type": "number"}]}) == (
        Row("start", "string", "A city."),
        Row("end", "string", "Where to."),
        Row("odd", "null"),
        Row("branch", "number"),
    )


@pytest.mark.parametrize(
    "reference", [*"#/$defs/A #/$defs/None #/a/7 #/a/² other.json #".split(), "#/a/" + "9" * 5_000], ids=range(7)
)
def test_a_reference_without_end_leaves_the_words_beside_it(reference: str) -> None:
    loops = {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}
    row = _one({"$ref": reference, "description": " Whose. "}, **{"$defs": loops, "a": []})
    assert row == Row("x", "", "Whose.")


def test_a_chain_of_references_is_followed_and_a_cycle_is_cut_behind_its_row() -> None:
    chain = {f"S{i}": {"$ref": f"#/$defs/S{i + 1}"} for i in range(5_000)}
    root = {"$defs": {**chain, "S5000": {"type": "string"}}}
    assert _one({"$ref": "#/$defs/S4980"}, **root).type == "string"
    assert _one({"$ref": "#/$defs/S0"}, **root).type == "string"
    node = _properties(name={"type": "string"}, next={"$ref": "#/$defs/Node", "description": "The next."})
    rows = parameter_rows({"$ref": "#/$defs/Node", "$defs": {"Node": node}})
    assert rows == (Row("name", "string"), Row("next", "object", "The next."))


def test_rows_end_at_500_and_seven_levels_down_and_branches_of_branches_end_in_time() -> None:
    rows = parameter_rows(_properties(**{f"p{i}": {"type": "string"} for i in range(10_000)}))
    assert [row.path for row in rows] == [f"p{i}" for i in range(500)]
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(20):
        schema = _properties(x=schema)
    assert [row.path.count("x") for row in parameter_rows(schema)] == [1, 2, 3, 4, 5, 6, 7]
    levels = {f"L{i}": {"anyOf": [{"$ref": f"#/$defs/L{i + 1}"}] * 50} for i in range(10)}
    inline: dict[str, Any] = {}
    for _ in range(10):
        inline = {"anyOf": [inline] * 50}
    started = time.process_time()
    assert parameter_rows({"$ref": "#/$defs/L0", "$defs": {**levels, "L10": {}}}) == parameter_rows(inline) == ()
    assert time.process_time() - started < 20  # its 50 ** 6 branches would take hours


PERSON = {"type": "object", "properties": {"id": {"type": "string", "description": " Its id. "}}, "required": ["id"]}
KEYS = "outputSchema output_schema returns response responseJsonSchema response_schema outputs"
ROWS = (Row("id", "string", "Its id.", required=True),)


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


def _wide() -> Any:
    return _properties(**{f"field_{n}": {"type": "string", "enum": ["a" * 500] * 500} for n in range(20_000)})


def _long() -> Any:
    text = "x" * 1_000_000
    return _properties(**{f"field_{n}": {"type": text, "description": text} for n in range(200)}, **{text: {}})


def _branching() -> Any:
    """Each level has twenty branches, which all lead back to every level."""
    branches = [{"$ref": f"#/$defs/{number}"} for number in range(20)] * 1_000
    return {"anyOf": branches, "$defs": {str(number): {"anyOf": branches} for number in range(20)}}


def _winding() -> Any:
    """A reference leads through twenty others, each of which leads through twenty of the next."""
    place: dict[str, Any] = {}
    for level in range(6, -1, -1):
        way = "#/$defs" if level == 0 else "#/$defs" + "/next" * (level - 1) + "/here" * 20 + "/next"
        place = {"here": {"$ref": way}, "next": place}
    return {**_properties(a={"$ref": "#/$defs" + "/next" * 6 + "/here/next"}), "$defs": place}


@pytest.mark.parametrize("make", [_wide, _long, _branching, _winding])
def test_a_hostile_schema_costs_little_and_gives_few_short_rows(make: Any) -> None:
    schema = make()
    started = time.thread_time()
    rows = output_rows(schema)
    assert time.thread_time() - started < 1  # about 10 ms
    assert len(rows) <= 100
    assert sum(len(row.path) + len(row.type) + len(row.description) + sum(map(len, row.enum)) for row in rows) < 120_000


WORDS = "properties items anyOf $ref type enum required description a"


@given(hostile_json(WORDS, "#", "#/a", "#/properties/a", "string"))
def test_no_value_breaks_the_reader(value: Any) -> None:
    rows = output_rows(value)
    assert len({row.path for row in rows}) == len(rows)
