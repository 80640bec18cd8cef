"""ResultRows on a screen: readable at any width, whatever is in them."""

from datetime import datetime
from typing import Any

import pytest
from rich.console import Console

from pipeline.inspection.results import ResultRows
from quartermaster.output.formatting import cell_text, layout, shorten

_LONG = "Returns charges, newest first, of one customer or of all of them, paginated by cursor. " * 4


def drawn(rows: ResultRows, width: int, **options: Any) -> list[str]:
    console = Console(width=width, highlight=False)
    with console.capture() as capture:
        console.print(layout(rows, width, **options))
    return [line.rstrip() for line in capture.get().splitlines()]


def test_numbers_stand_under_each_other_and_null_is_a_dash() -> None:
    rows = ResultRows(
        ("provider", "tools", "cost_usd", "run_id"), (("pay", 12_000, 0.5, 12_000), (None, 7, 0.00025, 2))
    )
    assert drawn(rows, 80) == [
        "provider   tools  cost_usd  run_id",
        "pay       12,000   0.50000   12000",
        "–              7   0.00025       2",
    ]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_screen_and_an_id_is_never_cut(width: int) -> None:
    rows = ResultRows(("tool_id", "words", "description"), (("provider-of-tools/" + "x" * 30, 12, _LONG),))
    for short in (False, True):
        lines = drawn(rows, width, short=short)
        assert max(map(len, lines)) <= width
        assert "x" * 30 in "".join(line[: width // 2] for line in lines).replace(" ", "") or width == 40
        assert any("…" in line for line in lines)


def test_a_short_row_takes_one_line_where_its_id_does() -> None:
    rows = ResultRows(("tool_id", "description"), (("a/b", _LONG), ("a/c", _LONG)))
    assert len(drawn(rows, 80, short=True)) == 3
    assert len(drawn(rows, 80)) > 3


def test_long_names_of_columns_are_folded_before_rows_are_stacked() -> None:
    rows = ResultRows(("prompt_tokens", "completion_tokens"), ((1, 2),))
    assert drawn(rows, 32)[0] == "prompt_tokens  completion_tokens"
    assert drawn(rows, 30) == ["prompt_  completion_", " tokens       tokens", "      1            2"]


def test_more_columns_than_fit_are_listed_row_by_row() -> None:
    rows = ResultRows(tuple(f"column{n}" for n in range(9)), (tuple(range(9)), (*range(8), None)))
    lines = drawn(rows, 40)
    assert lines[:2] == ["column0  0", "column1  1"]
    assert lines[9:11] == ["", "column0  0"] and lines[-1] == "column8  –"


def test_a_wide_script_is_measured_as_it_is_drawn() -> None:
    rows = ResultRows(("tool_id", "description"), (("顧客/情報", "顧客情報を返す" * 20),))
    console = Console(width=60)
    assert all(console.measure(line).maximum <= 60 for line in drawn(rows, 60))


def test_a_value_is_one_line() -> None:
    values = (
        True,
        datetime(2026, 5, 1, 12, 30, 15, 999),
        {"openai": 2, "file": 1},
        ["a", None, 0.123456],
        "two\nof\tus",
    )
    shown = ["yes", "2026-05-01 12:30:15", "openai 2, file 1", "a, –, 0.1235", "two of us"]
    assert list(map(cell_text, values)) == shown


def test_a_text_that_is_cut_says_so() -> None:
    assert shorten("one two", 7) == "one two"
    assert shorten("one two", 5) == "one…"
