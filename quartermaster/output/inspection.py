"""The contents of a snapshot on a terminal: an overview, one tool, a table, the result of SQL, the changes."""

from collections.abc import Mapping
from pathlib import Path

from rich.text import Text

from pipeline.inspection.reading import DEFAULT_LIMIT, Inspection
from pipeline.inspection.results import ResultRows, TableInfo
from quartermaster.output.formatting import cell_text
from quartermaster.output.rows import layout
from quartermaster.output.terminal import key_value_table, out, plain_text, print_heading, print_json
from quartermaster.output.tool_page import show_tool
from router.contract import MANIFEST
from router.errors import SnapshotInvalid

# The sections of the overview: the table with all rows, and the query whose first rows are shown.
_SECTIONS = {
    "Providers": (
        "providers",
        "SELECT provider, tools, thin, phrases_a_tool, written_by, failed, cost_usd FROM providers",
    ),
    "Costs": (
        "costs",
        "SELECT generator, model, sum(tools)::BIGINT AS tools, sum(prompt_tokens)::BIGINT AS prompt_tokens, "
        "sum(completion_tokens)::BIGINT AS completion_tokens, sum(cost_usd) AS cost_usd, "
        "sum(unpriced)::BIGINT AS unpriced FROM costs GROUP BY generator, model ORDER BY tools DESC, generator, model",
    ),
    "Worst tools": ("worst_tools", "SELECT tool_id, problems FROM worst_tools"),
    "Failures": ("failures", "SELECT tool_id, generator, kind, message, words_by FROM failures"),
    "Changes": ("changes", "FROM changes"),
}
_SECTION_ROWS = 5
# The meaning of an empty table, if it is more than "none".
_EMPTY = {"worst_tools": "no tool stands out as worse than the rest; see also thin_descriptions and siblings"}
_NEXT = {
    "TOOL": "one tool's page",
    "--table NAME --limit N": "a table or view",
    '--sql "SELECT …"': "any question; or open catalog.duckdb with any DuckDB client",
    "--against SNAPSHOT": "what changed between two builds",
}


def show_inspection(
    inspection: Inspection,
    *,
    tool: str | None,
    table: str | None,
    against: str | None,
    sql: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Print the one thing that is asked for, or the overview: at most one of `tool`, `table`, `against`, `sql` is set.

    `limit` is the most rows. Raises SnapshotInvalid if `against` is no snapshot.
    """
    if tool is not None:
        page = inspection.tool(tool)
        if as_json:
            _print_json(page.to_json())
        else:
            show_tool(page)
        return
    if table is None and against is None and sql is None:
        if as_json:
            _print_json(_overview_json(inspection, _SECTION_ROWS if limit is None else limit))
        else:
            _show_overview(inspection, _SECTION_ROWS if limit is None else limit)
        return
    limit = DEFAULT_LIMIT if limit is None else limit
    remark = ""
    if table is not None:
        rows = inspection.table(table, limit)
        remark = inspection.comment(table)
    elif against is not None:
        other = _snapshot_folder(inspection.folder, against)
        rows = inspection.changes(other, limit)
        remark = f"From {other.resolve().name} to {inspection.folder.name}."
    else:
        rows = inspection.sql(sql or "", limit)
    if as_json:
        _print_json(rows.to_json())
        return
    if remark:
        out.print(plain_text(remark, "dim"))
        out.print()
    _show_rows(rows, f"--limit {len(rows) + rows.more}", empty=_EMPTY.get(table or "", "none"))


def _show_overview(inspection: Inspection, limit: int) -> None:
    tables = {table.name: table for table in inspection.tables()}
    previous = inspection.table("snapshot").column("previous")[0]
    sections = [(title, name, inspection.sql(statement, limit)) for title, (name, statement) in _SECTIONS.items()]
    out.print(key_value_table(_facts(inspection, tables)))
    for title, name, rows in sections:
        if name == "changes":
            title = f"Changes since {previous}" if previous else "Changes"
        print_heading(f"{title} ({len(rows) + rows.more:,})" if rows else title)
        if name == "changes" and not previous:
            out.print("no snapshot served before this one", style="dim")
        else:
            next_command = f"quartermaster inspect --table {name} --limit {tables[name].rows}"
            _show_rows(rows, next_command, short=True, empty=_EMPTY.get(name, "none"))
    print_heading("Tables, views and macros")
    order = ("view", "macro", "table")
    listed = [
        (table.name, table.kind, table.rows, _first_sentence(table.comment))
        for table in sorted(tables.values(), key=lambda table: (order.index(table.kind), table.name))
    ]
    out.print(layout(ResultRows(("name", "kind", "rows", "what it holds"), tuple(listed)), out.width))
    print_heading("Next")
    out.print(key_value_table([(f"quartermaster inspect {arguments}", what) for arguments, what in _NEXT.items()]))


def _overview_json(inspection: Inspection, limit: int) -> dict[str, object]:
    return {
        "snapshot": inspection.table("snapshot").to_json()["rows"][0],
        **{name: inspection.table(name, limit).to_json() for name, _ in _SECTIONS.values()},
        "tables": [table.to_json() for table in inspection.tables()],
    }


def _facts(inspection: Inspection, tables: Mapping[str, TableInfo]) -> list[tuple[str, str]]:
    manifest = inspection.manifest
    ((built_at, run),) = inspection.table("snapshot").only("built_at", "run_id").rows
    ((cost_usd,),) = inspection.sql("SELECT cost_usd FROM builds WHERE run_id = (SELECT run_id FROM snapshot)").rows
    cost = "" if cost_usd is None else f" for ${cost_usd:.6f}" if cost_usd else ", at no cost"

    def counted(*names: str) -> str:
        # A snapshot of an older version may lack a table.
        return ", ".join(f"{name.replace('_', ' ')} {tables[name].rows or 0:,}" for name in names if name in tables)

    encoder = manifest.encoder
    facts = [
        ("catalog", manifest.catalog),
        ("snapshot", manifest.snapshot),
        ("built", f"{cell_text(built_at)} UTC by run {run}{cost}"),
        ("holds", counted("tools", "providers", "parameters", "phrases", "prerequisites")),
        ("expansions by", cell_text(manifest.generators) or "nobody"),
        ("encoder", f"{encoder.described}; {counted('vectors')}" if encoder else "none"),
        ("recipe", cell_text(manifest.recipe.get("name", "custom"))),
        ("to look at", counted("rejections", "notices", "duplicates", "shared_phrases")),
    ]
    return [*facts, *(("held back", reason) for reason in manifest.held)]


def _snapshot_folder(folder: Path, against: str) -> Path:
    """Return the folder of a snapshot of the same catalog by its id, or any snapshot's or catalog's folder."""
    siblings = {path.parent.name: path.parent for path in folder.parent.glob(f"*/{MANIFEST}")}
    if against in siblings:
        return siblings[against]
    if Path(against).is_dir():
        return Path(against)
    known = ", ".join(sorted(set(siblings) - {folder.name})) or "none"
    raise SnapshotInvalid(
        f"--against {against}: neither a snapshot of this catalog (it has {known} beside this one) nor a folder"
    )


def _show_rows(rows: ResultRows, next_command: str, *, short: bool = False, empty: str = "none") -> None:
    out.print(layout(rows, out.width, short=short) if rows else Text(empty, "dim"))
    if rows.more:
        out.print(f"and {rows.more:,} more: {next_command}", style="dim", markup=False)


def _print_json(value: object) -> None:
    print_json(value)


def _first_sentence(comment: str) -> str:
    return comment.partition(". ")[0].rstrip(".")
