"""The contents of a snapshot on a terminal: an overview, one tool, a table, the result of SQL, the changes."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.inspection.reading import DEFAULT_LIMIT, Inspection
from pipeline.inspection.results import ResultRows, TableInfo, ToolInspection
from quartermaster.output.formatting import cell_text, facts_table, layout, shorten
from quartermaster.output.terminal import out, plain_lines, plain_text, print_heading, print_json, print_out
from router.contract import MANIFEST
from router.errors import SnapshotInvalid
from router.record import Kind

# The sections of the overview: the table with all rows, and the query whose first rows are shown.
_SECTIONS = {
    "Providers": (
        "providers",
        "SELECT provider, tools, thin, phrases_a_tool, written_by, failed, cost_usd FROM providers",
    ),
    "Answers in use": (
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
    "--table NAME --limit N": "a table or view, and what it holds",
    '--sql "SELECT …"': "any question; or open catalog.duckdb with any DuckDB client",
    "--against SNAPSHOT": "what changed between two builds",
}
_MAX_DOCUMENT, _MAX_INSTRUCTIONS = 400, 2_000  # characters
_MAX_PARAMETERS, _MAX_EVENTS, _MAX_DEPENDENTS = 20, 12, 10


def show_rows(
    inspection: Inspection, *, table: str | None, against: str | None, sql: str, limit: int | None, as_json: bool
) -> None:
    """Print a table, or what changed since another snapshot, or what SQL answers; `limit` is the most rows.

    Raises SnapshotInvalid if `against` is no snapshot.
    """
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
        rows = inspection.sql(sql, limit)
    if as_json:
        print_json(rows.to_json())
        return
    if remark:
        out.print(plain_text(remark, "dim"))
        out.print()
    _show(rows, f"--limit {len(rows) + rows.more}", empty=_EMPTY.get(table or "", "none"))


def show_overview(inspection: Inspection, limit: int | None, *, as_json: bool) -> None:
    """Print the snapshot's facts, the first rows of its sections, and what can be asked."""
    limit = _SECTION_ROWS if limit is None else limit
    if as_json:
        print_json(
            {
                "snapshot": inspection.table("snapshot").to_json()["rows"][0],
                **{name: inspection.table(name, limit).to_json() for name, _ in _SECTIONS.values()},
                "tables": [table.to_json() for table in inspection.tables()],
            }
        )
        return
    tables = {table.name: table for table in inspection.tables()}
    previous = inspection.table("snapshot").column("previous")[0]
    sections = [(title, name, inspection.sql(statement, limit)) for title, (name, statement) in _SECTIONS.items()]
    out.print(facts_table(_facts(inspection, tables)))
    for title, name, rows in sections:
        since = f" since {previous}" if name == "changes" and previous else ""
        print_heading(f"{title}{since} ({len(rows) + rows.more:,})" if rows else f"{title}{since}")
        if name == "changes" and not previous:
            out.print("no snapshot served before this one", style="dim")
        else:
            more = f"quartermaster inspect --table {name} --limit {tables[name].rows}"
            _show(rows, more, short=True, empty=_EMPTY.get(name, "none"))
    print_heading("Tables, views and macros")
    listed: dict[str, list[str]] = {"view": [], "macro": [], "table": [], "empty": []}
    for name, one in sorted(tables.items()):
        listed["empty" if one.rows == 0 else one.kind].append(f"{name} {one.rows:,}" if one.rows else name)
    out.print(facts_table((kind, ", ".join(names)) for kind, names in listed.items() if names))
    print_heading("Next")
    out.print(facts_table((f"quartermaster inspect {arguments}", what) for arguments, what in _NEXT.items()))


def _facts(inspection: Inspection, tables: Mapping[str, TableInfo]) -> list[tuple[str, str]]:
    manifest = inspection.manifest
    ((built_at, run),) = inspection.table("snapshot").only("built_at", "run_id").rows
    ((cost_usd,),) = inspection.sql("SELECT cost_usd FROM builds WHERE run_id = (SELECT run_id FROM snapshot)").rows
    cost = "" if cost_usd is None else f" for ${cost_usd:.6f}" if cost_usd else ", at no cost"

    def counted(*names: str) -> str:
        # A snapshot of an older version may lack a table.
        return ", ".join(f"{name.replace('_', ' ')} {tables[name].rows or 0:,}" for name in names if name in tables)

    encoder = manifest.encoder
    return [
        ("catalog", manifest.catalog),
        ("snapshot", manifest.snapshot),
        ("built", f"{cell_text(built_at)} UTC by run {run}{cost}"),
        ("holds", counted("tools", "providers", "parameters", "phrases", "prerequisites")),
        ("expansions by", cell_text(manifest.generators) or "nobody"),
        ("encoder", f"{encoder.described}; {counted('vectors')}" if encoder else "none"),
        ("recipe", cell_text(manifest.recipe.get("name", "custom"))),
        ("to look at", counted("rejections", "notices", "duplicates", "shared_phrases")),
        *(("held back", reason) for reason in manifest.held),
    ]


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


def show_tool(page: ToolInspection) -> None:
    """Print everything about a tool, section by section; its JSON has the parts that are left out here."""
    record = page.record
    print_out(record.tool_id, "bold cyan")
    facts = [
        ("provider", record.provider or "–"),
        ("kind", "" if record.kind is Kind.TOOL else str(record.kind)),
        ("name", record.name),
        ("from", f"{record.origin.file} {record.origin.pointer}"),
        ("categories", ", ".join(record.categories)),
        ("annotations", json.dumps(dict(record.annotations), ensure_ascii=False) if record.annotations else ""),
        ("deprecated", "yes" if record.deprecated else ""),
        ("examples", "; ".join(record.examples)),
        *(("notice", f"{kind}: {message}") for kind, message, *_ in page.notices.rows),
    ]
    out.print(facts_table((key, cell_text(value)) for key, value in facts if value))
    out.print()
    out.print(plain_lines(record.description.strip() or "(no description)"))
    parameters = tuple(
        (p.path, p.type, "yes" if p.required else "", f"{p.description} One of {', '.join(p.enum)}.".strip())
        if p.enum
        else (p.path, p.type, "yes" if p.required else "", p.description)
        for p in record.parameters
    )
    _show_part("Parameters", ResultRows(("path", "type", "required", "description"), parameters), most=_MAX_PARAMETERS)
    if record.instructions:
        print_heading(f"Instructions ({len(record.instructions):,} characters)")
        out.print(plain_lines(record.instructions[:_MAX_INSTRUCTIONS]))
        if len(record.instructions) > _MAX_INSTRUCTIONS:
            out.print("and so on: --json", style="dim")
    print_heading("How people ask for it")
    if page.expansion is None:
        out.print("no expansion: nobody wrote phrases for this tool", style="dim")
    else:
        _show_expansion(page.expansion, page.phrases)
    _show_part("What the checks said", page.verdicts, ("check_name", "consequence", "text", "detail"))
    if page.siblings:
        print_heading("Siblings: tools that its phrases fit as well")
        out.print(plain_text(", ".join(cell_text(sibling) for (sibling,) in page.siblings.rows)))
    _show_part("Needs another tool first", page.prerequisites, ("parameter", "resolver", "confidence", "because"))
    _show_part("Runs first for", page.needed_by, most=_MAX_DEPENDENTS)
    _show_part("Failures", page.failures, "failed_at run_id generator model kind message".split())
    _show_part("Nearest tools, by the cosine of their vectors", page.neighbours, ("tool_id", "cosine"))
    print_heading("What each signal reads")
    out.print(facts_table((signal, shorten(text, _MAX_DOCUMENT) or "–") for signal, text in page.documents.items()))
    _show_part("History", page.history, most=_MAX_EVENTS, last=True)


def _show_part(
    title: str, rows: ResultRows, columns: Sequence[str] = (), *, most: int = 1_000, last: bool = False
) -> None:
    """Print rows under a heading with their number: `most` of them, the first or the `last` ones."""
    if not rows:
        return
    print_heading(f"{title} ({len(rows):,})")
    shown = rows.only(*columns) if columns else rows
    _show(ResultRows(shown.columns, shown.rows[-most:] if last else shown.rows[:most]))
    if len(rows) > most:
        out.print(f"and {len(rows) - most:,} {'earlier' if last else 'more'}: --json", style="dim")


def _show(rows: ResultRows, more: str = "", *, short: bool = False, empty: str = "none") -> None:
    """Print rows as wide as the terminal, and the command that shows `more`; `empty` where there are none."""
    out.print(layout(rows, out.width, short=short) if rows else plain_text(empty, "dim"))
    if rows.more:
        out.print(f"and {rows.more:,} more: {more}", style="dim", markup=False)


def _show_expansion(expansion: Mapping[str, Any], phrases: ResultRows) -> None:
    for phrase, also_of in phrases.rows:
        also = f"   also a phrase of {shorten(cell_text(also_of), 100)}" if also_of else ""
        out.print(plain_text(cell_text(phrase), "green") + plain_text(also, "yellow"))
    cost, tokens = expansion["cost_usd"], ""
    price = "price unknown" if cost is None else f"${cost:.6f}" if cost else "free"
    if expansion["prompt_tokens"]:
        tokens = f", {expansion['prompt_tokens']:,} + {expansion['completion_tokens']:,} tokens"
    facts = {
        "synonyms": expansion["synonyms"],
        "concepts": expansion["related_concepts"],
        "tasks": expansion["task_categories"],
        "requires": expansion.get("requires"),  # a snapshot of an earlier version has none
        "provides": expansion.get("provides"),
        "written by": f"{expansion['generator']}, {expansion['model']}",
        "written at": f"{cell_text(expansion['written_at'])} UTC, run {expansion['run_id']}",
        "cost": f"{price}{tokens}",
        "key": f"{expansion['expansion_key']}, of the question and the answer in ledger.duckdb",
    }
    out.print()
    out.print(facts_table((key, cell_text(value)) for key, value in facts.items() if value))
