"""Rows of a query on a terminal of any width: side by side if they fit, else one value under the other."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from pipeline.inspection.results import ResultRows
from quartermaster.output.formatting import MISSING, cell_text, shorten
from quartermaster.output.terminal import plain_text

_GAP = 2
_MAX_CELL = 240  # characters of a cell: JSON has the rest
_MIN_ID, _MIN_TEXT = 24, 16  # the narrowest columns in which an id, and a text, can be read


def layout(rows: ResultRows, width: int, *, short: bool = False) -> RenderableType:
    """Return rows as a table of a terminal's width, or each row as a list of its values if the columns do not fit.

    `short` keeps a row on one line, its texts cut with …; ids are folded all the same: half an id is useless.
    """
    values = [[row[index] for row in rows.rows] for index in range(len(rows.columns))]
    cells = [_texts(name, column) for name, column in zip(rows.columns, values, strict=True)]
    for split in ("_", "_\n"):
        columns = [
            _column(name, name.replace("_", split), column, texts, short)
            for name, column, texts in zip(rows.columns, values, cells, strict=True)
        ]
        if sum((column.min_width or 0) + _GAP for column in columns) - _GAP <= width:
            _widen(columns, width)
            table = Table(*columns, box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
            for row in zip(*cells, strict=True):
                table.add_row(*row)
            return table
    parts: list[RenderableType] = []
    for row in zip(*cells, strict=True):
        stacked = Table.grid(Column(style="dim", no_wrap=True), Column(overflow="fold"), padding=(0, _GAP, 0, 0))
        for name, cell in zip(rows.columns, row, strict=True):
            stacked.add_row(plain_text(name), cell)
        parts += [Text(), stacked] if parts else [stacked]
    return Group(*parts)


def _texts(name: str, values: Sequence[Any]) -> list[Text]:
    """Return the cells of a column. Its numbers align: all have as many decimals as the one that needs most."""
    max_decimals = 6 if name.endswith("usd") else 4
    floats = [value for value in values if isinstance(value, float)]
    decimals = max((len(f"{value:.{max_decimals}f}".rstrip("0").partition(".")[2]) for value in floats), default=0)

    def text(value: Any) -> Text:
        if value is None:
            return Text(MISSING, style="dim")
        if isinstance(value, float):
            return Text(f"{value:,.{decimals}f}")
        if _is_number(value):
            return Text(str(value) if name.endswith(("_id", "year")) else f"{value:,}")  # those are no amounts
        return plain_text(shorten(cell_text(value), _MAX_CELL))

    return [text(value) for value in values]


def _column(name: str, header: str, values: Sequence[Any], cells: Sequence[Text], short: bool) -> Column:
    """Return a column with the least width for reading. Numbers are never folded: half of one is another."""
    is_id = name.endswith(("tool_id", "tool_ids", "snapshot"))
    known = [value for value in values if value is not None]
    right = bool(known) and all(map(_is_number, known))
    rigid = right or (bool(known) and all(isinstance(value, bool | datetime) for value in known))
    header_width = max(map(cell_len, header.split("\n")))
    full_width = max(header_width, *(cell.cell_len for cell in cells))
    return Column(
        plain_text(header),
        min_width=full_width if rigid else max(header_width, min(full_width, _MIN_ID if is_id else _MIN_TEXT)),
        max_width=full_width,
        justify="right" if right else "left",
        style="cyan" if is_id else "",
        overflow="ellipsis" if short and not is_id else "fold",
        no_wrap=short and not is_id,
    )


def _widen(columns: Sequence[Column], width: int) -> None:
    """Set the width of each column: its full width if all fit, else the longest share what the others leave.

    Rich itself narrows a column to nothing before it cuts one that is not folded.
    """
    spare = width - sum((column.min_width or 0) + _GAP for column in columns) + _GAP
    by_growth = sorted(columns, key=lambda column: (column.max_width or 0) - (column.min_width or 0))
    for position, column in enumerate(by_growth):
        least, full = column.min_width or 0, column.max_width or 0
        column.width = min(full, least + spare // (len(columns) - position))
        spare -= column.width - least


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
