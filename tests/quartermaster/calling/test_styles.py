"""Values in the styles of OpenAPI: the specification's own table, and what it leaves out."""

from typing import Any

import pytest

from quartermaster.calling.errors import CallRefused
from quartermaster.calling.styles import escape, escape_reserved, expand, pairs
from router.operation import Style

ARRAY = ["blue", "black", "brown"]
OBJECT = {"R": 100, "G": 200, "B": 150}


# OpenAPI 3.1.1, "Style Examples": the columns are an empty string, a string, an array and an object.
@pytest.mark.parametrize(
    ("style", "explode", "empty", "text", "array", "properties"),
    [
        ("matrix", False, ";color", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"),
        ("matrix", True, ";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"),
        ("label", False, ".", ".blue", ".blue,black,brown", ".R,100,G,200,B,150"),
        ("label", True, ".", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"),
        ("simple", False, "", "blue", "blue,black,brown", "R,100,G,200,B,150"),
        ("simple", True, "", "blue", "blue,black,brown", "R=100,G=200,B=150"),
    ],
)
def test_path_styles_are_those_of_the_specification(
    style: Style, explode: bool, empty: str, text: str, array: str, properties: str
) -> None:
    values: list[Any] = ["", "blue", ARRAY, OBJECT]
    assert [expand("color", value, style, explode, escape) for value in values] == [empty, text, array, properties]


@pytest.mark.parametrize(
    ("style", "explode", "values", "queries"),
    [
        ("form", False, ["", "blue"], ["color=", "color=blue"]),
        ("form", False, [ARRAY, OBJECT], ["color=blue,black,brown", "color=R,100,G,200,B,150"]),
        ("form", True, ["", "blue"], ["color=", "color=blue"]),
        ("form", True, [ARRAY, OBJECT], ["color=blue&color=black&color=brown", "R=100&G=200&B=150"]),
        ("spaceDelimited", False, [ARRAY, OBJECT], ["color=blue%20black%20brown", "color=R%20100%20G%20200%20B%20150"]),
        ("pipeDelimited", False, [ARRAY, OBJECT], ["color=blue%7Cblack%7Cbrown", "color=R%7C100%7CG%7C200%7CB%7C150"]),
        ("tabDelimited", False, [ARRAY], ["color=blue%09black%09brown"]),
        ("deepObject", True, [OBJECT], ["color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"]),
    ],
)
def test_query_styles_are_those_of_the_specification(
    style: Style, explode: bool, values: list[Any], queries: list[str]
) -> None:
    written = [pairs("color", value, style, explode) for value in values]
    assert ["&".join(f"{key}={text}" for key, text in found) for found in written] == queries


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (3.0, "3"), (2.5, "2.5"), (1e300, "1e%2B300"), ("a b&c=d", "a%20b%26c%3Dd"), (["a", None], "a")],
)
def test_plain_values_are_written_as_json_writes_them_and_escaped(value: Any, text: str) -> None:
    assert expand("n", value, "simple", False, escape) == text


@pytest.mark.parametrize(
    ("value", "style", "explode", "sent"),
    [
        ({"a": None, "b": 1}, "form", True, [("b", "1")]),
        ({"a": None, "b": [None, 1]}, "deepObject", True, [("n%5Bb%5D%5B1%5D", "1")]),
        ([], "form", True, []),
        ([], "form", False, []),
        ({}, "form", False, []),
    ],
)
def test_what_is_null_or_empty_adds_nothing_to_a_query(value: Any, style: Style, explode: bool, sent: Any) -> None:
    assert list(pairs("n", value, style, explode)) == sent


@pytest.mark.parametrize("value", [[["a"]], [{"a": 1}], {"a": ["b"]}, {"a": {"b": 1}}])
def test_a_value_within_a_value_is_refused_and_its_place_is_named(value: Any) -> None:
    with pytest.raises(CallRefused, match=r"^n.*plain values"):
        list(pairs("n", value, "form", True))


def test_reserved_characters_that_would_end_a_parameter_are_escaped_even_where_they_are_allowed() -> None:
    assert escape_reserved("/a?b:c,d") == "/a?b:c,d"
    assert escape_reserved("x&admin=1#f+%20[]") == "x%26admin%3D1%23f%2B%2520%5B%5D"
