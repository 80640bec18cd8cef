"""Annotations to JSON Schema, and docstrings of every style."""

import dataclasses
import datetime
import pathlib
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, Required, TypedDict

import pydantic
import pytest
import typing_extensions

from router.tools.functions.schemas import ParsedDocstring, Schema, SchemaMaker, parse_docstring
from tests.router.tools.functions.kinds import Color, Level, Query, Spot, Struct, T, UserId


@dataclasses.dataclass
class Address:
    """Where somebody lives.

    Attributes:
        street: With the number.
    """

    street: str
    before: "Address | None" = None
    made: int = dataclasses.field(default=0, init=False)


class Filter(TypedDict, total=False):
    state: Required[str]
    labels: list[str]


class Item(pydantic.BaseModel):
    name: str = pydantic.Field(description="What it is.")
    where: Spot | None = None
    parts: list["Item"] = []


STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, STRING),
        (int, INTEGER),
        (float, NUMBER),
        (None, {"type": "null"}),
        (Any, {}),
        (list[int], {"type": "array", "items": INTEGER}),
        (tuple[int, ...], {"type": "array", "items": INTEGER}),
        (tuple[int, str], {"type": "array", "items": {"anyOf": [INTEGER, STRING]}, "minItems": 2, "maxItems": 2}),
        (dict[str, float], {"type": "object", "additionalProperties": NUMBER}),
        (int | str, {"anyOf": [INTEGER, STRING]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, True, "x"], {"enum": [1, True, "x"]}),
        (Level, {"type": "integer", "enum": [1]}),
        (Color, {"type": "string", "enum": ["red", "('red', 'blue')"]}),
        (Annotated[int, "How many."], {**INTEGER, "description": "How many."}),
        (Annotated[int, object(), {"not": "hashable"}], INTEGER),
        (datetime.date, {**STRING, "format": "date"}),
        (pathlib.Path, STRING),
        (UserId, INTEGER),
        (list[T], {"type": "array"}),  # type: ignore[valid-type]
    ],
    # An id must be the same in each worker: no address of an object.
    ids=lambda value: re.sub(" at 0x[0-9a-f]+", "", str(value)),
)
def test_the_schema_of_an_annotation(annotation: Any, schema: Schema) -> None:
    maker = SchemaMaker()
    assert maker.of(annotation) == schema
    assert not maker.definitions
    assert not maker.unknown


@pytest.mark.parametrize(
    ("annotation", "schema", "name"),
    [
        (SchemaMaker, {}, "SchemaMaker"),
        ("NoSuch", {}, "NoSuch"),
        (5, {}, "5"),
        (pydantic.create_model("Call", f=(Callable[[int], int], ...)), {}, "Call"),
        (dict[str, list[SchemaMaker]], {"type": "object", "additionalProperties": {"type": "array"}}, "SchemaMaker"),
    ],
)
def test_what_json_has_no_form_for_takes_any_value_there_alone_and_is_named(
    annotation: Any, schema: Schema, name: str
) -> None:
    maker = SchemaMaker()
    assert maker.of(annotation) == schema
    assert maker.unknown == [name]


def test_an_alias_is_what_stands_behind_it_and_one_of_itself_ends() -> None:
    names = typing_extensions.TypeAliasType("names", list[str])
    assert SchemaMaker().of(names) == {"type": "array", "items": STRING}
    looped = type("looped", (), {"__value__": None})()
    looped.__value__ = list[looped]  # type: ignore[valid-type]
    assert SchemaMaker().of(looped) == {"type": "array"}


def test_a_dataclass_has_its_fields_their_descriptions_and_what_is_required() -> None:
    maker = SchemaMaker()
    assert maker.of(list[Address]) == {"type": "array", "items": {"$ref": "#/$defs/Address"}}
    address = maker.definitions["Address"]
    assert address["description"] == "Where somebody lives."
    assert (address["required"], [*address["properties"]]) == (["street"], ["street", "before"])
    assert address["properties"]["street"] == {**STRING, "description": "With the number."}
    assert address["properties"]["before"]["anyOf"][0] == {"$ref": "#/$defs/Address"}


@pytest.mark.parametrize(
    ("kind", "required"),
    [(Filter, ["state"]), (Query, ["text"]), (Spot, ["x"]), (Item, ["name"]), (Struct, ["id"])],
)
def test_classes_with_fields_say_what_is_required(kind: type, required: list[str]) -> None:
    maker = SchemaMaker()
    assert maker.of(kind) == maker.of(kind) == {"$ref": f"#/$defs/{kind.__name__}"}
    assert maker.definitions[kind.__name__]["required"] == required
    assert kind is not Item or maker.definitions["Item"]["properties"]["name"]["description"] == "What it is."


def test_two_types_of_one_name_have_two_definitions() -> None:
    one, other = (dataclasses.make_dataclass("Bare", [(name, str)]) for name in "xy")
    model = pydantic.create_model("Bare", z=(float, ...))
    maker = SchemaMaker()
    references = [maker.of(kind)["$ref"] for kind in (one, other, model)]
    assert references == ["#/$defs/Bare", "#/$defs/Bare2", "#/$defs/Bare3"]
    assert [list(schema["properties"]) for schema in maker.definitions.values()] == [["x"], ["y"], ["z"]]
    assert "description" not in maker.definitions["Bare"]  # the docstring that `dataclass` generates is none


GOOGLE = """Refund a charge.

    All of it, or a part.

    Args:
        charge (str): The charge, such as ch_1:
            the one to pay back.
        amount (int, optional): Cents.
        **rest: Whatever else.

    Returns:
        The refund's id.
    """
NUMPY = """Refund a charge.

    All of it, or a part.

    Parameters
    ----------
    charge : str
        The charge, such as ch_1:
        the one to pay back.
    amount : int, optional
        Cents.
    rest
        Whatever else.
    """
SPHINX = """Refund a charge.

    All of it, or a part.

    :param charge: The charge, such as ch_1:
        the one to pay back.
    :type charge: str
    :param int amount: Cents.
    :param rest: Whatever else.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_each_style_says_the_same(text: str) -> None:
    assert parse_docstring(text) == ParsedDocstring(
        "Refund a charge.\n\nAll of it, or a part.",
        {"charge": "The charge, such as ch_1: the one to pay back.", "amount": "Cents.", "rest": "Whatever else."},
        {"charge": "string", "amount": "integer"},
    )


def test_numpy_describes_several_parameters_at_once_and_a_text_of_no_style_is_the_description() -> None:
    docs = parse_docstring("Draw.\n\nParameters\n----------\nx, y : float\n    Where.\n")
    assert (docs.parameters, docs.types) == ({"x": "Where.", "y": "Where."}, {"x": "number", "y": "number"})
    for text in ("Do it: with a colon.", "Search.\n\nSteps:\n  1. look", "Uses :class:`X` and :param"):
        assert parse_docstring(text) == ParsedDocstring(text)
    assert parse_docstring(None) == ParsedDocstring()
