"""Measure a router on requests of your own: write them down, measure, look at the worst, compare two recipes.

    pip install .        (in a checkout of Quartermaster; nothing else is needed)
    python evaluate_requests.py
    python evaluate_requests.py .quartermaster/snapshots/mine judgements.jsonl        (your catalog, your requests)

Where there is no judgements.jsonl it writes one, for a small catalog: change its lines and run it again. For a report
with plots: `quartermaster evaluate --bench FOLDER --html report.html`; FOLDER holds catalog.toml and judgements.jsonl.
"""

import json
import sys
from pathlib import Path

from quartermaster import Router, evaluation
from quartermaster.evaluation import METRICS, Measurement

TOOLS = {
    "disable_user": "Disable an account, so that nobody can log in with it.",
    "reset_password": "Send somebody a link to set a new password.",
    "list_devices": "List the computers and phones of a person.",
    "wipe_device": "Erase a device remotely, for one that was lost or stolen.",
    "grant_access": "Let a person use an application.",
    "revoke_access": "Take an application away from a person.",
    "restart_server": "Restart a server.",
    "read_logs": "Read the latest log lines of a server.",
}
# What people asked, in their own words, and the tools that answer it. Write such lines before you look at any answer.
REQUESTS = {
    "Jo left the company, lock him out": ["disable_user"],
    "I forgot my password": ["reset_password"],
    "which laptop does Ada have": ["list_devices"],
    "my phone was stolen on the train": ["wipe_device"],
    "give the interns access to the wiki application": ["grant_access"],
    "she must not use the billing application any more": ["revoke_access"],
    "why did the web server fail last night": ["read_logs"],
    "restart the mail server and show me its log": ["restart_server", "read_logs"],
}


def write_judgements(path: Path) -> None:
    """Write the requests as a catalog's judgements.jsonl: one line each."""
    with path.open("w", encoding="utf-8") as file:
        for number, (request, tools) in enumerate(REQUESTS.items(), 1):
            kind = "multi" if len(tools) > 1 else "single"  # "none", with empty lists, where no tool can do it
            line = {"id": f"r{number:02}", "query": request, "kind": kind, "required": tools, "acceptable": tools}
            file.write(json.dumps(line) + "\n")
    print(f"{len(REQUESTS)} requests written to {path}")


def show_figures(measured: Measurement) -> None:
    """Print each metric with its 95 % interval."""
    row = evaluation.comparison_row(measured)
    print(f"\nrecipe {row['recipe']}, {len(measured.results)} requests, {row['tools']} tools")
    for metric in METRICS:
        if (value := row["metrics"][metric.key]) is not None:  # None: no request that the metric is for
            low, high = row["intervals"][metric.key] or (value, value)
            print(f"  {metric!s:20} {value:.3f}   95 % interval {low:.3f} to {high:.3f}")


def show_worst(measured: Measurement, count: int) -> None:
    """Print the worst requests: what was needed, where it is in the lists, and what came first."""
    print("\nworst requests")
    for row in evaluation.worst(measured, count):
        print(f"  {row['request']}\n    first    {row['returned'][0]['tool_id'] if row['returned'] else 'nothing'}")
        for tool in row["required"]:
            print(f"    needed   {tool['tool_id']}: {tool['why']}")


def show_difference(first: Measurement, second: Measurement) -> None:
    """Print how two recipes differ on the same requests, by a paired test that tells a difference from chance."""
    print(f"\n{first.recipe.name} less {second.recipe.name}")
    by_key = evaluation.compared(first, second)
    for metric in METRICS:
        if difference := by_key[metric.key]:
            moved = f"{difference.better} better, {difference.worse} worse"
            chance = ", may be chance" if difference.p >= 0.05 else ""
            print(f"  {metric!s:20} {difference.difference:+.3f}   {moved}, p = {difference.p:.3f}{chance}")


def main(snapshot: str | None = None, judgements: str = "judgements.jsonl") -> None:
    """Measure the recipes "default" and "lexical" on judged requests, and say where they differ."""
    path = Path(judgements)
    if snapshot is None:
        if not path.exists():
            write_judgements(path)
        router = Router.from_tools([{"name": name, "description": text} for name, text in TOOLS.items()])
    else:
        router = Router.open(snapshot)
    requests = evaluation.read_judgements(path)
    measured = evaluation.ask(router, requests)
    if unknown := evaluation.unknown_tools(measured):
        print("the catalog lacks these tools of the judgements:", ", ".join(unknown))

    show_figures(measured)
    show_worst(measured, 3)
    show_difference(measured, evaluation.ask(router, requests, "lexical"))


if __name__ == "__main__":
    main(*sys.argv[1:3])
