"""What a model reads of a tool's result, whichever adapter carries it."""

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from quartermaster.adapters import as_text


class Forecast(BaseModel):
    city: str
    days: int


@dataclass
class Place:
    name: str


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("rain", "rain"),
        ({"rain": True}, '{"rain":true}'),
        (Place("Oslo"), '{"name":"Oslo"}'),
        ([Forecast(city="Oslo", days=2)], '[{"city":"Oslo","days":2}]'),
        (Forecast, f'"{Forecast}"'),
        # Half a character, as Python reads such names of files: no provider takes it.
        ("a \ud800", "a ?"),
        ({"a": "\ud800"}, '{"a": "\\ud800"}'),
    ],
)
def test_a_text_stays_and_anything_else_is_json(result: Any, text: str) -> None:
    assert as_text(result) == text
