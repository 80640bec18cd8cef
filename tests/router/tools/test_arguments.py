"""Arguments mended by their schema: only what has a type that the schema does not take, and only without loss."""

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.tools.arguments import mend_arguments

TEXT, NUMBER, WHOLE = {"type": "string"}, {"type": "number"}, {"type": "integer"}
LIST, BOX = (
    {"type": "array", "items": TEXT},
    {"type": "object", "properties": {"to": TEXT, "cc": TEXT}, "required": ["to"]},
)
REF = {"$ref": "#/$defs/box"}
EITHER = {"anyOf": [BOX, {"type": "null"}]}


def schema(value: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"x": value},
        "required": list(required),
        "$defs": {"box": BOX, "me": {"$ref": "#/$defs/me"}},
    }


@pytest.mark.parametrize(
    ("due", "given", "mended"),
    [
        (BOX, '{"to": "ada"}', {"to": "ada"}),
        (REF, '{"to": "ada", "cc": null}', {"to": "ada"}),
        (EITHER, '{"to": "ada"}', {"to": "ada"}),
        (EITHER, "null", None),
        ({"type": ["object", "null"], "properties": {}}, "null", None),
        (LIST, '["a", "b"]', ["a", "b"]),
        (LIST, "a", ["a"]),
        ({"type": "array", "items": BOX}, {"to": "ada"}, [{"to": "ada"}]),
        ({"type": "array", "items": BOX}, ['{"to": "ada"}'], [{"to": "ada"}]),
        ({"type": "array", "prefixItems": [NUMBER, TEXT]}, ["1", "2"], [1, "2"]),
        (NUMBER, "-1.5e3", -1500.0),
        (WHOLE, "12", 12),
        (WHOLE, "12.0", 12.0),
        ({"enum": [1, 2]}, "2", 2),
        ({"type": "boolean"}, "True", True),
        ({"type": "object", "additionalProperties": WHOLE}, {"a": "1"}, {"a": 1}),
        ({"allOf": [{"type": "integer"}]}, "3", 3),
        ({"oneOf": [{"type": "integer"}, {"type": "boolean"}]}, "false", False),
        (TEXT, 42, "42"),
        ({"type": "integer", "nullable": True}, None, None),
    ],
)
def test_a_value_of_a_wrong_type_is_read_as_the_type_that_is_due(due: dict[str, Any], given: Any, mended: Any) -> None:
    found = mend_arguments(schema(due, "x"), {"x": given})
    assert found is not None and found.arguments == {"x": mended}
    assert bool(found.notes) == (given != mended) and all(note.startswith("x") for note in found.notes)
    assert mend_arguments(schema(due, "x"), found.arguments) == type(found)({"x": mended})


@pytest.mark.parametrize(
    ("due", "given"),
    [
        (TEXT, '{"a": 1}'),
        (TEXT, 1.10),
        (TEXT, True),
        (TEXT, ["a"]),
        (NUMBER, "five"),
        (NUMBER, "1e999"),
        (NUMBER, "NaN"),
        (NUMBER, True),
        (WHOLE, "1.5"),
        (WHOLE, ["1"]),
        (BOX, "[1]"),
        (BOX, "{'to': 'ada'}"),
        (LIST, 7),
        ({"type": "boolean"}, 1),
        ({"type": "boolean"}, "yes"),
        ({"anyOf": [TEXT, WHOLE]}, "5"),
        ({}, "5"),
        (True, "5"),
        ({"$ref": "#/$defs/me"}, "5"),
        ({"$ref": "https://example.com/schema"}, "5"),
        ({"type": "integer", "$comment": "required"}, None),
    ],
)
def test_a_value_is_left_where_something_would_be_lost_or_guessed(due: Any, given: Any) -> None:
    found = mend_arguments(schema(due, "x"), {"x": given})
    assert found is not None and (found.arguments, found.notes) == ({"x": given}, ())


def test_null_for_an_optional_is_left_out_and_stays_where_the_schema_takes_it() -> None:
    found = mend_arguments(schema(TEXT), {"x": None, "other": None})
    assert found is not None and found.arguments == {"other": None}
    assert found.notes == ("x: it is optional and was null, so it was left out",)
    for takes_null in (EITHER, {"type": ["string", "null"]}, {}, {"type": "string", "nullable": True}):
        kept = mend_arguments(schema(takes_null), {"x": None})
        assert kept is not None and (kept.arguments, kept.notes) == ({"x": None}, ())


def test_the_arguments_themselves_may_be_json_text_and_nothing_else() -> None:
    found = mend_arguments(schema(WHOLE), '{"x": "1"}')
    assert found is not None and found.arguments == {"x": 1} and len(found.notes) == 2
    assert [mend_arguments(schema(WHOLE), given) for given in ("[1]", "x = 1", None, [1], 5)] == [None] * 5


Pair = tuple[dict[str, Any], Any]  # a schema, and a value that fits it
LEAVES: st.SearchStrategy[Pair] = st.one_of(
    st.tuples(st.just(TEXT), st.text(max_size=5) | st.sampled_from(["5", "true", "null", "[]", "{}"])),
    st.tuples(st.just(NUMBER), st.integers() | st.floats(allow_nan=False, allow_infinity=False)),
    st.tuples(st.just(WHOLE), st.integers()),
    st.tuples(st.just({"type": "boolean"}), st.booleans()),
    st.tuples(st.just({"type": "null"}), st.none()),
    st.tuples(st.just({"enum": ["5", 1]}), st.sampled_from(["5", 1])),
    st.tuples(st.just({}), st.sampled_from(["5", None, [1]])),
)
PAIRS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(lambda pair: ({"type": "array", "items": pair[0]}, [pair[1]] * 2)),
        st.tuples(inner, inner).map(lambda two: ({"anyOf": [two[0][0], two[1][0]]}, two[0][1])),
        st.tuples(inner, inner).map(
            lambda two: (
                {"type": "object", "properties": {"a": two[0][0], "b": two[1][0]}, "required": ["a"]},
                {"a": two[0][1], "b": two[1][1]},
            )
        ),
    ),
    max_leaves=5,
)


@given(PAIRS)
def test_arguments_that_fit_are_never_changed(pair: Pair) -> None:
    whole = schema(pair[0], "x")
    arguments = {"x": pair[1]}
    jsonschema.validate(arguments, whole)
    found = mend_arguments(whole, arguments)
    assert found is not None and (found.arguments, found.notes) == (arguments, ())
