"""The tools that builds hold back alone, on a terminal or as JSON."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.ledger import Ledger, QuarantinedTool
from pipeline.ledger.commands import open_to_read
from pipeline.ledger.quarantine import HELD, RELEASED, quarantined_tools
from quartermaster.output.terminal import out, print_json, rows_table, say, tell
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
        say(f"released, for the next build: {', '.join(release)}")
    if hold:
        say(f"held again, from the next build on: {', '.join(hold)}")


def show_quarantine(workspace: Path, catalog: str, *, as_json: bool) -> None:
    """Print the tools of a catalog that are held back alone, and those that were released."""
    readable = open_to_read(workspace)
    with readable.connection as connection:
        stored = quarantined_tools(connection, catalog, _AREA)
    if as_json:
        print_json({"catalog": catalog, "tools": [_to_json(one) for one in stored]})
        return
    if readable.note:
        say(readable.note, "dim")
    if not stored:
        tell(f"{catalog}: no tool is held back alone")
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
            tell(line)


def _to_json(one: QuarantinedTool) -> dict[str, object]:
    return {**one.to_json(), "state": one.state, "run_id": one.run_id}
