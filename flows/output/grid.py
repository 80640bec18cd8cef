"""Rows of any width on a screen of a given one: side by side where they fit, else one value under the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from flows.output.screen import plain
from pipeline.inspection.results import ResultRows

_GAP = 2
_MAX_CELL = 240  # characters of a cell: JSON has the rest
_LEAST_ID, _LEAST_TEXT = 24, 16  # what an id, and a text, can be folded into and still be read
_MISSING = "–"


@dataclass(frozen=True, slots=True)
class _Column:
    """A column as text; `rigid` ones are never folded, for half a number is another number."""

    name: str
    header: str
    cells: Sequence[str | None]
    right: bool
    rigid: bool

    @property
    def is_id(self) -> bool:
        return self.name.endswith(("tool_id", "tool_ids", "snapshot"))

    @property
    def natural(self) -> int:
        texts = (*self.header.split("\n"), *(_MISSING if cell is None else cell for cell in self.cells))
        return max(map(cell_len, texts))

    @property
    def least(self) -> int:
        if self.rigid:
            return self.natural
        header = max(map(cell_len, self.header.split("\n")))
        return max(header, min(self.natural, _LEAST_ID if self.is_id else _LEAST_TEXT))


def grid(rows: ResultRows, width: int, *, short: bool = False) -> RenderableType:
    """Rows under their columns, or each row as a list of its values where texts would have no room side by side.

    `short` keeps a row on one line, its texts cut with …; ids are folded all the same, for half of one is useless.
    """
    values = [[row[at] for row in rows.rows] for at in range(len(rows.columns))]
    for split in ("_", "_\n"):
        columns = [_column(n, n.replace("_", split), v) for n, v in zip(rows.columns, values, strict=True)]
        if sum(column.least + _GAP for column in columns) - _GAP <= width:
            return _side_by_side(columns, width, short)
    return _stacked(columns, len(rows))


def cell(value: object) -> str:
    """A value as one line of text."""
    if value is None:
        return _MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {cell(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(cell, value))
    return " ".join(str(value).split())


def cut(text: str, length: int) -> str:
    """A text as one line, or its beginning and …"""
    line = cell(text)
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def _column(name: str, header: str, values: Sequence[Any]) -> _Column:
    """A column; its numbers have as many decimals as the one that needs most, so that they stand under each other."""
    most = 6 if name.endswith("usd") else 4
    floats = [value for value in values if isinstance(value, float)]
    decimals = max((len(f"{value:.{most}f}".rstrip("0").partition(".")[2]) for value in floats), default=0)

    def text(value: Any) -> str | None:
        if isinstance(value, float):
            return f"{value:,.{decimals}f}"
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value) if name.endswith(("_id", "year")) else f"{value:,}"  # those are no amounts
        return None if value is None else cut(cell(value), _MAX_CELL)

    known = [value for value in values if value is not None]
    right = bool(known) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)
    rigid = right or (bool(known) and all(isinstance(value, bool | datetime) for value in known))
    return _Column(name, header, [text(value) for value in values], right, rigid)


def _side_by_side(columns: Sequence[_Column], width: int, short: bool) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for column, given in zip(columns, _widths(columns, width), strict=True):
        table.add_column(
            plain(column.header),
            width=given,
            justify="right" if column.right else "left",
            style="cyan" if column.is_id else "",
            overflow="ellipsis" if short and not column.is_id else "fold",
            no_wrap=short and not column.is_id,
        )
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(_text, row))
    return table


def _widths(columns: Sequence[_Column], width: int) -> list[int]:
    """What a column needs where there is room for all; else the longest share what the others leave."""
    given = {at: column.least for at, column in enumerate(columns)}
    spare = width - sum(given.values()) - _GAP * (len(columns) - 1)
    growing = sorted((column.natural - column.least, at) for at, column in enumerate(columns))
    for place, (wanted, at) in enumerate(growing):
        more = min(wanted, spare // (len(growing) - place))
        given[at] += more
        spare -= more
    return [given[at] for at in range(len(columns))]


def _stacked(columns: Sequence[_Column], count: int) -> RenderableType:
    parts: list[RenderableType] = []
    for row in range(count):
        table = Table.grid(padding=(0, _GAP, 0, 0))
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        for column in columns:
            table.add_row(plain(column.name), _text(column.cells[row]))
        parts += [Text(), table] if parts else [table]
    return Group(*parts)


def _text(cell: str | None) -> Text:
    return Text(_MISSING, style="dim") if cell is None else plain(cell)
