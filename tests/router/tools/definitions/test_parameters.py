"""A JSON Schema to parameter rows."""

import time
from typing import Any

import pytest

from router.record import Parameter as Row
from router.tools.definitions.parameters import parameter_rows


def _properties(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _one(schema: Any, **root: Any) -> Row:
    """The first row of a schema with one property, `x`."""
    return parameter_rows({**_properties(x=schema), **root})[0]


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"properties": []}, {"items": [1]}])
def test_a_schema_without_properties_has_no_rows(schema: dict[str, Any]) -> None:
    assert parameter_rows(schema) == ()


def test_a_row_says_path_type_description_values_and_whether_required() -> None:
    status = {"type": "string", "description": " Which charges. ", "enum": ["paid", "failed"]}
    assert parameter_rows({**_properties(status=status, limit={"type": "integer"}), "required": ["status"]}) == (
        Row("status", "string", "Which charges.", ("paid", "failed"), True),
        Row("limit", "integer"),
    )


def test_nested_objects_and_arrays_are_rows_depth_first() -> None:
    address = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    customer = _properties(addresses={"type": "array", "items": address}, name={"type": "string"})
    matrix = {"type": "array", "items": {"type": "array", "items": _properties(cell={"type": "number"})}}
    assert parameter_rows(_properties(customer=customer, matrix=matrix)) == (
        Row("customer", "object"),
        Row("customer.addresses", "array"),
        Row("customer.addresses[].city", "string", required=True),
        Row("customer.name", "string"),
        Row("matrix", "array"),
        Row("matrix[][].cell", "number"),
    )


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        ({"enum": ["a", 1, None, True, {"b": [1.5]}]}, ("a", "1", "null", "true", '{"b":[1.5]}')),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, ("a", "b")),
        ({"type": "array", "items": {"$ref": "#/$defs/Size"}}, ("s", "m")),
        ({"$ref": "#/$defs/Size"}, ("s", "m")),
        ({"enum": "a"}, ()),
    ],
)
def test_the_values_of_a_row_are_its_enum_or_its_items(schema: Any, values: tuple[str, ...]) -> None:
    assert _one(schema, **{"$defs": {"Size": {"enum": ["s", "m"]}}}).enum == values


_ROOT = {"$defs": {"Model": _properties(a={}), "Both": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Model"}]}}}


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string|null"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "string"}]}, "string|integer"),
        ({"oneOf": [{"anyOf": [{"type": "string"}]}, {"type": "null"}, True]}, "string|null"),
        ({"anyOf": [{"$ref": "#/$defs/Model"}, {"type": "null"}]}, "object|null"),
        ({"properties": {}}, "object"),
        ({"$ref": "#/$defs/Both"}, "string|object"),
        ({}, ""),
    ],
)
def test_the_type_of_a_row_is_what_its_schema_or_its_branches_say(schema: Any, name: str) -> None:
    assert _one(schema, **_ROOT).type == name


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf", "allOf"])
def test_branches_give_their_rows_once(keyword: str) -> None:
    card = {**_properties(kind={"type": "string"}, number={"type": "string"}), "required": ["number"]}
    bank = _properties(kind={"type": "string"}, iban={"type": "string"})
    expected = (Row("kind", "string"), Row("number", "string", required=True), Row("iban", "string"))
    assert parameter_rows({keyword: [card, bank, True, None]}) == expected
    inside = parameter_rows(_properties(pay={keyword: [card, bank]}))
    assert [row.path for row in inside] == ["pay", "pay.kind", "pay.number", "pay.iban"]


def test_references_are_followed_and_the_words_beside_them_win() -> None:
    city = {"type": "string", "description": "A city."}
    root = {"$defs": {"City": city}, "definitions": {"a/b~c d": {"type": "null"}}}
    schema = _properties(
        start={"$ref": "#/$defs/City"},
        end={"$ref": "#/$defs/City", "description": "Where to."},
        odd={"$ref": "#/definitions/a~1b~0c%20d"},
        same={"$ref": "#/properties/start"},
        branch={"$ref": "#/anyOf/1"},
    )
    rows = parameter_rows({**schema, **root, "anyOf": [True, {"type": "number"}]})
    assert rows == (
        Row("start", "string", "A city."),
        Row("end", "string", "Where to."),
        Row("odd", "null"),
        Row("same", "string", "A city."),
        Row("branch", "number"),
    )


@pytest.mark.parametrize(
    "reference",
    [*"#/$defs/Self #/$defs/A #/$defs/None #/a/7 #/a/² other.json #".split(), "#/a/" + "9" * 5_000],
    ids=range(8),
)
def test_a_reference_without_end_leaves_the_words_beside_it(reference: str) -> None:
    loops = {"Self": {"$ref": "#/$defs/Self"}, "A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}
    row = _one({"$ref": reference, "description": " Whose. "}, **{"$defs": loops, "a": []})
    assert row == Row("x", "", "Whose.")


def test_a_chain_of_references_is_followed_for_a_while() -> None:
    chain = {f"S{i}": {"$ref": f"#/$defs/S{i + 1}"} for i in range(5_000)}
    root = {"$defs": {**chain, "S5000": {"type": "string"}}}
    assert _one({"$ref": "#/$defs/S4980"}, **root).type == "string"
    assert _one({"$ref": "#/$defs/S0"}, **root).type == ""
    node = _properties(name={"type": "string"}, next={"$ref": "#/$defs/Node", "description": "The next."})
    assert parameter_rows({"$ref": "#/$defs/Node", "$defs": {"Node": node}}) == (
        Row("name", "string"),
        Row("next", "object", "The next."),  # the cycle is cut behind it
    )


@pytest.mark.parametrize(
    ("schema", "description"),
    [
        (" the city's name ", "the city's name"),
        (True, ""),
        (None, ""),
        (["x"], ""),
        ({"description": 7}, ""),
        ({"required": True}, ""),  # only a list makes a parameter required
    ],
)
def test_a_schema_may_be_a_plain_text_or_nothing_usable(schema: Any, description: str) -> None:
    assert _one(schema) == Row("x", "", description)


def test_rows_end_at_500_and_seven_levels_down() -> None:
    rows = parameter_rows(_properties(**{f"p{i}": {"type": "string"} for i in range(10_000)}))
    assert [row.path for row in rows] == [f"p{i}" for i in range(500)]
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(20):
        schema = _properties(x=schema)
    assert [row.path.count("x") for row in parameter_rows(schema)] == [1, 2, 3, 4, 5, 6, 7]


def test_branches_of_branches_end_in_time_though_they_give_no_row() -> None:
    levels = {f"L{i}": {"anyOf": [{"$ref": f"#/$defs/L{i + 1}"}] * 50} for i in range(10)}
    started = time.process_time()
    assert parameter_rows({"$ref": "#/$defs/L0", "$defs": {**levels, "L10": {}}}) == ()
    assert time.process_time() - started < 20  # its 50 ** 6 branches would take hours
