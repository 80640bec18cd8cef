"""The tools that builds hold back alone, on a terminal or as JSON."""

import json
from collections.abc import Sequence
from pathlib import Path

from pipeline.ledger import Ledger, QuarantinedTool
from pipeline.ledger.commands import open_to_read
from pipeline.ledger.quarantine import HELD, RELEASED, quarantined_tools
from quartermaster.output.terminal import err, out, plain_text, rows_table
from router.errors import SettingsInvalid

_AREA = "snapshots"
_LONGEST = 100  # characters of a request


def decide_quarantine(
    workspace: Path, catalog: str, release: Sequence[str], hold: Sequence[str], wait_s: float
) -> None:
    """Release tools, or take back a release. Raises SettingsInvalid for a tool that is not held, or not released."""
    with Ledger.open(workspace, wait_s) as ledger:
        stored = ledger.quarantine.tools(catalog, _AREA)
        for ids, state in ((release, HELD), (hold, RELEASED)):
            known = sorted({one.tool_id for one in stored if one.state == state})
            if unknown := [tool_id for tool_id in ids if tool_id not in known]:
                there_are = f"choose from {', '.join(known)}" if known else "none is"
                raise SettingsInvalid(f"{unknown[0]!r} is not {state} in {catalog}: {there_are}")
        ledger.quarantine.release(catalog, _AREA, release)
        ledger.quarantine.hold(catalog, _AREA, hold)
    if release:
        err.print(plain_text(f"released, for the next build: {', '.join(release)}"), soft_wrap=True)
    if hold:
        err.print(plain_text(f"held again, from the next build on: {', '.join(hold)}"), soft_wrap=True)


def show_quarantine(workspace: Path, catalog: str, *, as_json: bool) -> None:
    """Print the tools of a catalog that are held back alone, and those that were released."""
    readable = open_to_read(workspace)
    with readable.connection as connection:
        stored = quarantined_tools(connection, catalog, _AREA)
    if as_json:
        print(json.dumps({"catalog": catalog, "tools": [_to_json(one) for one in stored]}, ensure_ascii=False))
        return
    if readable.note:
        err.print(plain_text(readable.note, "dim"), soft_wrap=True)
    if not stored:
        out.print(plain_text(f"{catalog}: no tool is held back alone"), soft_wrap=True)
        return
    rows = [
        (one.tool_id, one.state, one.kind, f"{one.since:%Y-%m-%d}", f"{one.requests:,} of {one.probes:,}", one.distance)
        for one in stored
    ]
    head = ("tool", "state", "kind", "since", "requests entered", "distance")
    out.print(rows_table(head, [(*row[:-1], f"{row[-1]:.2f}") for row in rows]))
    for one in stored:
        for request, served in one.examples:
            line = f"{one.tool_id}: {request[:_LONGEST]!r}, which {', '.join(served) or 'no tool'} had"
            out.print(plain_text(line), soft_wrap=True)


def _to_json(one: QuarantinedTool) -> dict[str, object]:
    return {**one.to_json(), "state": one.state, "run_id": one.run_id}
