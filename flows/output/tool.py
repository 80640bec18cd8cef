"""One tool's page: what it is, who says how it is asked for, what is near it, what befell it."""

import json
from collections.abc import Mapping
from typing import Any

from rich.text import Text

from flows.output.grid import cell, cut, grid
from flows.output.screen import head, out, pairs, plain
from pipeline.inspection.results import ResultRows, ToolInspection

_MAX_DOCUMENT = 400
_PARAMETERS, _EVENTS = 20, 12  # how many of each are shown


def show_tool(page: ToolInspection) -> None:
    """The page, section by section; what it leaves out is in its JSON."""
    record = page.record
    out.print(plain(record.tool_id, "bold cyan"), soft_wrap=True)
    facts = [
        ("provider", record.provider or "–"),
        ("name", record.name),
        ("from", f"{record.origin.file} {record.origin.pointer}"),
        ("categories", ", ".join(record.categories)),
        ("annotations", json.dumps(dict(record.annotations), ensure_ascii=False) if record.annotations else ""),
        ("deprecated", "yes" if record.deprecated else ""),
        ("examples", "; ".join(record.examples)),
        *(("notice", f"{kind}: {message}") for kind, message, *_ in page.notices.rows),
    ]
    out.print(pairs([(key, cell(value)) for key, value in facts if value]))
    out.print()
    out.print(plain(record.description.strip() or "(no description)"))
    _show_parameters(page)
    if page.expansion is None:
        head("How people ask for it")
        out.print(Text("no expansion: nobody wrote phrases for this tool", "dim"))
    else:
        _show_expansion(page.expansion, page.phrases)
    if page.verdicts:
        head(f"What the checks said ({len(page.verdicts):,})")
        out.print(grid(page.verdicts.only("check_name", "consequence", "text", "detail"), out.width))
    if page.siblings:
        head("Siblings: tools that its phrases fit as well")
        out.print(plain(", ".join(cell(sibling) for (sibling,) in page.siblings.rows)))
    if page.failures:
        head(f"Failures ({len(page.failures):,})")
        out.print(grid(page.failures.only(*"failed_at run_id generator model kind message".split()), out.width))
    if page.neighbours:
        head("Nearest tools, by the cosine of their vectors")
        out.print(grid(page.neighbours.only("tool_id", "cosine"), out.width))
    head("What each signal reads")
    out.print(pairs([(signal, cut(text, _MAX_DOCUMENT) or "–") for signal, text in page.documents.items()]))
    head(f"History ({len(page.history):,})")
    earlier = max(len(page.history) - _EVENTS, 0)
    if earlier:
        out.print(f"and {earlier:,} earlier: --json", style="dim")
    out.print(grid(ResultRows(page.history.columns, page.history.rows[earlier:]), out.width))


def _show_parameters(page: ToolInspection) -> None:
    parameters = page.record.parameters
    if not parameters:
        return
    head(f"Parameters ({len(parameters):,})")
    rows = [
        (p.path, p.type, "yes" if p.required else "", f"{p.description} One of {', '.join(p.enum)}.".strip())
        if p.enum
        else (p.path, p.type, "yes" if p.required else "", p.description)
        for p in parameters[:_PARAMETERS]
    ]
    out.print(grid(ResultRows(("path", "type", "required", "description"), tuple(rows)), out.width))
    if len(parameters) > _PARAMETERS:
        out.print(f"and {len(parameters) - _PARAMETERS:,} more: --json", style="dim")


def _show_expansion(words: Mapping[str, Any], phrases: ResultRows) -> None:
    head("How people ask for it")
    for phrase, also_of in phrases.rows:
        also = f"   also a phrase of {cut(cell(also_of), 100)}" if also_of else ""
        out.print(plain(cell(phrase), "green") + plain(also, "yellow"))
    cost = words["cost_usd"]
    price = "price unknown" if cost is None else f"${cost:.6f}" if cost else "free"
    facts = {
        "synonyms": words["synonyms"],
        "concepts": words["related_concepts"],
        "tasks": words["task_categories"],
        "written by": f"{words['generator']}, {words['model']}",
        "written at": f"{cell(words['written_at'])} UTC, run {words['run_id']}",
        "cost": f"{price}, {words['prompt_tokens']:,} + {words['completion_tokens']:,} tokens"
        if words["prompt_tokens"]
        else price,
    }
    out.print()
    out.print(pairs([(key, cell(value)) for key, value in facts.items() if value]))
