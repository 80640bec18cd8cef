"""One tool on a terminal: its record, phrases, verdicts, neighbours, documents and history."""

import json
from collections.abc import Mapping
from typing import Any

from rich.text import Text

from pipeline.inspection.results import ResultRows, ToolInspection
from quartermaster.output.formatting import cell_text, shorten
from quartermaster.output.rows import layout
from quartermaster.output.terminal import key_value_table, out, plain_text, print_heading, tell
from router.record import Kind

_MAX_DOCUMENT, _MAX_INSTRUCTIONS = 400, 2_000  # characters
_MAX_PARAMETERS, _MAX_EVENTS, _MAX_DEPENDENTS = 20, 12, 10


def show_tool(page: ToolInspection) -> None:
    """Print the page, section by section; its JSON has the parts that are left out here."""
    record = page.record
    tell(record.tool_id, "bold cyan")
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
    out.print(key_value_table([(key, cell_text(value)) for key, value in facts if value]))
    out.print()
    out.print(plain_text(record.description.strip() or "(no description)"))
    _show_parameters(page)
    if record.instructions:
        print_heading(f"Instructions ({len(record.instructions):,} characters)")
        out.print(plain_text(record.instructions[:_MAX_INSTRUCTIONS]))
        if len(record.instructions) > _MAX_INSTRUCTIONS:
            out.print("and so on: --json", style="dim")
    if page.expansion is None:
        print_heading("How people ask for it")
        out.print(Text("no expansion: nobody wrote phrases for this tool", "dim"))
    else:
        _show_expansion(page.expansion, page.phrases)
    if page.verdicts:
        print_heading(f"What the checks said ({len(page.verdicts):,})")
        out.print(layout(page.verdicts.only("check_name", "consequence", "text", "detail"), out.width))
    if page.siblings:
        print_heading("Siblings: tools that its phrases fit as well")
        out.print(plain_text(", ".join(cell_text(sibling) for (sibling,) in page.siblings.rows)))
    _show_prerequisites(page)
    if page.failures:
        print_heading(f"Failures ({len(page.failures):,})")
        out.print(layout(page.failures.only(*"failed_at run_id generator model kind message".split()), out.width))
    if page.neighbours:
        print_heading("Nearest tools, by the cosine of their vectors")
        out.print(layout(page.neighbours.only("tool_id", "cosine"), out.width))
    print_heading("What each signal reads")
    out.print(
        key_value_table([(signal, shorten(text, _MAX_DOCUMENT) or "–") for signal, text in page.documents.items()])
    )
    print_heading(f"History ({len(page.history):,})")
    earlier = max(len(page.history) - _MAX_EVENTS, 0)
    if earlier:
        out.print(f"and {earlier:,} earlier: --json", style="dim")
    out.print(layout(ResultRows(page.history.columns, page.history.rows[earlier:]), out.width))


def _show_parameters(page: ToolInspection) -> None:
    parameters = page.record.parameters
    if not parameters:
        return
    print_heading(f"Parameters ({len(parameters):,})")
    rows = [
        (p.path, p.type, "yes" if p.required else "", f"{p.description} One of {', '.join(p.enum)}.".strip())
        if p.enum
        else (p.path, p.type, "yes" if p.required else "", p.description)
        for p in parameters[:_MAX_PARAMETERS]
    ]
    out.print(layout(ResultRows(("path", "type", "required", "description"), tuple(rows)), out.width))
    if len(parameters) > _MAX_PARAMETERS:
        out.print(f"and {len(parameters) - _MAX_PARAMETERS:,} more: --json", style="dim")


def _show_prerequisites(page: ToolInspection) -> None:
    if page.prerequisites:
        print_heading("Needs another tool first")
        out.print(layout(page.prerequisites.only("parameter", "resolver", "confidence", "because"), out.width))
    if needed_by := page.needed_by:
        print_heading(f"Runs first for ({len(needed_by):,})")
        out.print(layout(ResultRows(needed_by.columns, needed_by.rows[:_MAX_DEPENDENTS]), out.width))
        if len(needed_by) > _MAX_DEPENDENTS:
            out.print(f"and {len(needed_by) - _MAX_DEPENDENTS:,} more: --json", style="dim")


def _show_expansion(expansion: Mapping[str, Any], phrases: ResultRows) -> None:
    print_heading("How people ask for it")
    for phrase, also_of in phrases.rows:
        also = f"   also a phrase of {shorten(cell_text(also_of), 100)}" if also_of else ""
        out.print(plain_text(cell_text(phrase), "green") + plain_text(also, "yellow"))
    cost = expansion["cost_usd"]
    price = "price unknown" if cost is None else f"${cost:.6f}" if cost else "free"
    facts = {
        "synonyms": expansion["synonyms"],
        "concepts": expansion["related_concepts"],
        "tasks": expansion["task_categories"],
        "requires": expansion.get("requires"),  # a snapshot of an earlier version has none
        "provides": expansion.get("provides"),
        "written by": f"{expansion['generator']}, {expansion['model']}",
        "written at": f"{cell_text(expansion['written_at'])} UTC, run {expansion['run_id']}",
        "cost": f"{price}, {expansion['prompt_tokens']:,} + {expansion['completion_tokens']:,} tokens"
        if expansion["prompt_tokens"]
        else price,
        "key": f"{expansion['expansion_key']}, of the question and the answer in ledger.duckdb",
    }
    out.print()
    out.print(key_value_table([(key, cell_text(value)) for key, value in facts.items() if value]))
