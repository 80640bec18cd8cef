"""Values as texts, and rows as tables: side by side where they fit, else one value below the other."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from quartermaster.output.terminal import plain_lines, plain_text

if TYPE_CHECKING:
    from pipeline.inspection.results import ResultRows

Row = Sequence[str | Text] | None  # None ends a group of rows
MISSING = "–"
_GAP = 2
_MAX_CELL = 240  # characters of a cell: JSON has the rest
_MIN_ID, _MIN_TEXT = 24, 16  # the narrowest columns in which an id, and a text, can be read


def dollars(cost: float | None, unknown: str = "price unknown") -> str:
    """Return US dollars with four decimals below 10, else two; `unknown` if there is no price."""
    return unknown if cost is None else f"${cost:,.4f}" if cost < 10 else f"${cost:,.2f}"


def megabytes(size: float) -> str:
    """Return bytes as megabytes: 1,234 MB, with a decimal below 10."""
    return f"{size / 1e6:,.1f} MB" if size < 9_950_000 else f"{size / 1e6:,.0f} MB"


def decimal(value: float | None) -> str:
    """Return a share or a difference with three decimals and no zero before the point: .682, -.012, 1.00."""
    if value is None:
        return MISSING
    text = f"{value:.3f}".replace("-0.000", "0.000")
    return text[:-1] if abs(value) >= 0.9995 else text.replace("0.", ".", 1)


def interval_text(interval: Sequence[float] | None) -> str:
    """Return an interval as .884–.946, or as "-.012 to .030" if its lower end is negative."""
    if interval is None:
        return MISSING
    low, high = map(decimal, interval)
    return f"{low} to {high}" if interval[0] < 0 else f"{low}–{high}"


def metric_text(value: float | None, best: float | None = None) -> Text:
    """Return a metric, in bold if it is the best."""
    if value is None:
        return Text(MISSING, "dim")
    return Text(f"{value:.3f}", "bold" if value == best else "")


def cell_text(value: object) -> str:
    """Return a value of a table as one line of text."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {cell_text(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(cell_text, value))
    return " ".join(str(value).split())


def shorten(text: str, length: int) -> str:
    """Return a text as one line, cut with … to `length` characters."""
    line = cell_text(text)
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def number_columns(*headers: str) -> list[Column]:
    """Return columns of figures."""
    return [Column(header, justify="right", no_wrap=True) for header in headers]


def name_column(header: str) -> Column:
    """Return a column of names."""
    return Column(header, style="cyan", overflow="fold")


def interval_column() -> Column:
    """Return a column of 95 % intervals."""
    return Column("95 %", style="dim", no_wrap=True)


def make_table(columns: Iterable[str | Column], rows: Iterable[Row], **options: Any) -> Table:
    """Return a table under bold headers, with options of rich's. Strings are data, never markup."""
    heads = [Column(plain_lines(head), overflow="fold") if isinstance(head, str) else head for head in columns]
    shown = any(str(head.header) for head in heads)
    made = Table(*heads, box=None, pad_edge=False, header_style="bold", show_header=shown, **options)
    for row in rows:
        if row is None:
            made.add_section()
        else:
            made.add_row(*(plain_text(cell) if isinstance(cell, str) else cell for cell in row))
    return made


def facts_table(facts: Iterable[tuple[str, str | Text]], gap: int = 2) -> Table:
    """Return names beside their values."""
    made = Table.grid(Column(style="dim", no_wrap=True), Column(overflow="fold"), padding=(0, gap, 0, 0))
    for fact, value in facts:
        made.add_row(plain_text(fact), plain_text(value) if isinstance(value, str) else value)
    return made


def layout(rows: "ResultRows", width: int, *, short: bool = False) -> RenderableType:
    """Return rows as a table of a terminal's width, or each row as a list of its values if the columns do not fit.

    `short` keeps a row on one line, its texts cut with …; ids are folded anyway: half an id is useless.
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
            made = Table(*columns, box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
            for row in zip(*cells, strict=True):
                made.add_row(*row)
            return made
    parts: list[RenderableType] = []
    for row in zip(*cells, strict=True):
        parts += [*([Text()] if parts else []), facts_table(zip(rows.columns, row, strict=True), _GAP)]
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
        plain_lines(header),
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
