"""Types in words, and in descriptions."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.tools.definitions.types import ParsedType, parse_type, parse_typed_text


@pytest.mark.parametrize(
    ("text", "schema", "required"),
    [
        ("string", {"type": "string"}, None),
        ("date", {"type": "string", "format": "date"}, None),
        ("<class 'float'>", {"type": "number"}, None),
        ("str, optional", {"type": "string"}, False),
        ("Optional[int]", {"type": "integer"}, False),
        ("str | None", {"type": ["string", "null"]}, None),
        ("Union[str, int]", {"type": ["string", "integer"]}, None),
        ("array of integers", {"type": "array", "items": {"type": "integer"}}, None),
        ("list[dict[str, Any]]", {"type": "array", "items": {"type": "object"}}, None),
        ("Literal['asc', 'desc']", {"type": "string", "enum": ["asc", "desc"]}, None),
        ("float, default: 0.5", {"type": "number", "default": 0.5}, None),
        ("optional", {}, False),
    ],
)
def test_a_type_in_any_dialect_is_json_schemas(text: str, schema: dict[str, Any], required: bool | None) -> None:
    assert parse_type(text) == ParsedType(schema, required)


@pytest.mark.parametrize("text", ["", "Address", "the city", "str, sorted", "Callable[[int], str]", "string " * 99])
def test_what_is_not_known_for_a_type_is_none(text: str) -> None:
    assert parse_type(text) is None


@pytest.mark.parametrize(
    ("text", "schema", "required"),
    [
        ("(string, required) the city", {"type": "string", "description": "the city"}, True),
        ("(string) (optional) the city", {"type": "string", "description": "the city"}, False),
        ("[int]: how many", {"type": "integer", "description": "how many"}, None),
        ("integer - how many", {"type": "integer", "description": "how many"}, None),
        ("the city (optional, string)", {"type": "string", "description": "the city"}, False),
        ("Required. The city.", {"description": "Required. The city."}, True),
        # What may name the thing as well as its type names no type.
        ("file: the path", {"description": "file: the path"}, None),
        ("the unit (celsius or fahrenheit)", {"description": "the unit (celsius or fahrenheit)"}, None),
        ("url", {"type": "string", "description": "url"}, None),
    ],
)
def test_a_type_in_a_text_is_taken_where_it_is_beyond_doubt(
    text: str, schema: dict[str, Any], required: bool | None
) -> None:
    assert parse_typed_text(text) == ParsedType(schema, required)


PIECES = [*"( ) [ ] string int List[ Optional[ ? optional é default=".split(), " | ", ", ", ": ", " - "]


@given(st.text(max_size=40) | st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_text_is_read_and_none_of_its_words_of_prose_is_lost(text: str) -> None:
    typed = parse_typed_text(text)
    assert isinstance(typed.schema.get("description", ""), str)
    assert typed.schema or not text.strip() or typed.required is not None


def test_a_long_text_takes_no_time() -> None:
    started = time.process_time()
    for text in ("(int) " * 50_000, "(" * 100_000, " " * 100_000 + ":", "List[" * 50_000, "?" * 100_000):
        parse_typed_text(text)
    assert time.process_time() - started < 5
