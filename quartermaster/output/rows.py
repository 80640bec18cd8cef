"""Rows of a query on a terminal of any width: side by side if they fit, else one value under the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pipeline.inspection.results import ResultRows
from quartermaster.output.formatting import MISSING, cell_text, shorten
from quartermaster.output.terminal import plain_text

_GAP = 2
_MAX_CELL = 240  # characters of a cell: JSON has the rest
_MIN_ID, _MIN_TEXT = 24, 16  # the narrowest columns in which an id, and a text, can be read


@dataclass(frozen=True, slots=True)
class _Column:
    """A column as text. `rigid` columns are never folded: half a number is another number."""

    name: str
    header: str
    cells: Sequence[str | None]
    right: bool
    rigid: bool

    @property
    def is_id(self) -> bool:
        return self.name.endswith(("tool_id", "tool_ids", "snapshot"))

    @property
    def full_width(self) -> int:
        texts = (*self.header.split("\n"), *(MISSING if text is None else text for text in self.cells))
        return max(map(cell_len, texts))

    @property
    def min_width(self) -> int:
        if self.rigid:
            return self.full_width
        header = max(map(cell_len, self.header.split("\n")))
        return max(header, min(self.full_width, _MIN_ID if self.is_id else _MIN_TEXT))


def layout(rows: ResultRows, width: int, *, short: bool = False) -> RenderableType:
    """Return rows as a table of a terminal's width, or each row as a list of its values if the columns do not fit.

    `short` keeps a row on one line, its texts cut with …; ids are folded all the same: half an id is useless.
    """
    values = [[row[index] for row in rows.rows] for index in range(len(rows.columns))]
    for split in ("_", "_\n"):
        columns = [_column(n, n.replace("_", split), v) for n, v in zip(rows.columns, values, strict=True)]
        if sum(column.min_width + _GAP for column in columns) - _GAP <= width:
            return _side_by_side(columns, width, short)
    return _stacked(columns, len(rows))


def _column(name: str, header: str, values: Sequence[Any]) -> _Column:
    """Return a column. Its numbers have as many decimals as the one that needs most, so that they align."""
    max_decimals = 6 if name.endswith("usd") else 4
    floats = [value for value in values if isinstance(value, float)]
    decimals = max((len(f"{value:.{max_decimals}f}".rstrip("0").partition(".")[2]) for value in floats), default=0)

    def text(value: Any) -> str | None:
        if isinstance(value, float):
            return f"{value:,.{decimals}f}"
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value) if name.endswith(("_id", "year")) else f"{value:,}"  # those are no amounts
        return None if value is None else shorten(cell_text(value), _MAX_CELL)

    known = [value for value in values if value is not None]
    right = bool(known) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)
    rigid = right or (bool(known) and all(isinstance(value, bool | datetime) for value in known))
    return _Column(name, header, [text(value) for value in values], right, rigid)


def _side_by_side(columns: Sequence[_Column], width: int, short: bool) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for column, column_width in zip(columns, _widths(columns, width), strict=True):
        table.add_column(
            plain_text(column.header),
            width=column_width,
            justify="right" if column.right else "left",
            style="cyan" if column.is_id else "",
            overflow="ellipsis" if short and not column.is_id else "fold",
            no_wrap=short and not column.is_id,
        )
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(_text, row))
    return table


def _widths(columns: Sequence[_Column], width: int) -> list[int]:
    """Return the width of each column: its full width if all fit, else the longest share what the others leave."""
    widths = [column.min_width for column in columns]
    spare = width - sum(widths) - _GAP * (len(columns) - 1)
    growth = sorted((column.full_width - column.min_width, index) for index, column in enumerate(columns))
    for position, (wanted, index) in enumerate(growth):
        more = min(wanted, spare // (len(growth) - position))
        widths[index] += more
        spare -= more
    return widths


def _stacked(columns: Sequence[_Column], count: int) -> RenderableType:
    parts: list[RenderableType] = []
    for row in range(count):
        table = Table.grid(padding=(0, _GAP, 0, 0))
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        for column in columns:
            table.add_row(plain_text(column.name), _text(column.cells[row]))
        parts += [Text(), table] if parts else [table]
    return Group(*parts)


def _text(text: str | None) -> Text:
    return Text(MISSING, style="dim") if text is None else plain_text(text)
