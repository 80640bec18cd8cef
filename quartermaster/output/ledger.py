"""The ledger on a terminal, or as JSON: what it holds, how builds ended, what they cost, which tools are held back."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.table import Column

from pipeline.inspection.reading import Inspection, fetch, lock, select
from pipeline.inspection.results import to_json
from pipeline.ledger import Ledger
from pipeline.ledger.commands import Backup, Checked, Compacted, Restored, open_to_read
from pipeline.ledger.discarding import Discarded
from pipeline.ledger.history import History
from pipeline.ledger.quarantine import HELD, RELEASED, Quarantine
from pipeline.sentences import counted, named
from quartermaster.output.formatting import MISSING, dollars, facts_table, layout, make_table, megabytes, number_columns
from quartermaster.output.terminal import out, plain_text, print_err, print_heading, print_json, print_out
from router.errors import SettingsInvalid

_AREA = "snapshots"
_LONGEST = 100  # characters of a request
_TIME = "%Y-%m-%d %H:%M:%S"
_SECTIONS = {
    "Answers": (
        "SELECT generator, model, count(*) FILTER (kind IS NULL) AS answers, count(kind) AS failures, "
        "sum(prompt_tokens)::BIGINT AS prompt_tokens, sum(completion_tokens)::BIGINT AS completion_tokens, "
        "sum(cost_usd) AS cost_usd, count(*) - count(cost_usd) AS unpriced "
        "FROM (FROM expansions UNION ALL BY NAME FROM failures) GROUP BY ALL ORDER BY answers DESC, generator, model"
    ),
    "Failures": (
        "SELECT model, kind, count(*) AS failures FROM failures GROUP BY ALL ORDER BY failures DESC, model, kind"
    ),
    "Runs": "SELECT run_id, catalog, started_at, finished_at, outcome, message FROM runs ORDER BY run_id DESC",
    "Open batches": "SELECT token, model, batch_id, created_at FROM batches WHERE outcome IS NULL ORDER BY created_at",
}


def show_ledger(workspace: Path, sql: str | None, limit: int, *, as_json: bool) -> None:
    """Print an overview of a workspace's ledger, or the rows of a SELECT. Raises SettingsInvalid for wrong SQL."""
    readable = open_to_read(workspace)
    with readable.connection as connection:
        lock(connection)
        if sql is None:
            sections = {title: fetch(connection, query, limit) for title, query in _SECTIONS.items()}
        else:
            sections = {"": select(connection, sql, limit, "the ledger")}
    if as_json:
        found = {title.lower().replace(" ", "_") or "rows": rows.to_json()["rows"] for title, rows in sections.items()}
        about = {"ledger": str(readable.file), "made_at": readable.made_at.isoformat(), "held_by": readable.holder}
        print_json({**about, **found})
        return
    if readable.note:
        print_err(readable.note, "dim")
    if sql is None:
        out.print(facts_table([("ledger", str(readable.file)), ("size", megabytes(readable.file.stat().st_size))]))
    for title, rows in sections.items():
        if title and rows.rows:
            print_heading(title)
        if rows.rows or not title:
            out.print(layout(rows, out.width))
        if rows.more:
            out.print(plain_text(f"and {rows.more:,} more: --limit {len(rows.rows) + rows.more}", "dim"))


def show_status(
    workspace: Path, catalog: str | None, limit: int, within: float | None, wait_s: float, *, as_json: bool
) -> bool:
    """Print how the last builds ended and what they cost. Return whether the last one of each catalog is good.

    Raises SettingsInvalid where the ledger has no build of `catalog`.
    """
    readable = open_to_read(workspace, wait_s=wait_s)
    with readable.connection as connection:
        history = History(connection, readable.file)
        names = [name for (name,) in history.rows("SELECT DISTINCT catalog FROM runs ORDER BY catalog")]
        if catalog is not None and catalog not in names:
            raise SettingsInvalid(f"{readable.file} has no build of {catalog!r}: it has {', '.join(names) or 'none'}")
        nights = {name: history.nights(name) for name in names if catalog in (None, name)}
    if readable.note:
        print_err(readable.note, "dim")
    good: dict[str, bool] = {}
    for name, rows in nights.items():
        for row in rows if readable.holder is None else ():
            row["outcome"] = "killed" if row["outcome"] == "running" else row["outcome"]  # nobody has the ledger
        last = next((row for row in rows if row["area"] in (None, _AREA) and row["outcome"] != "running"), None)
        if last is not None:
            ended = (last["finished_at"] or last["started_at"]).replace(tzinfo=UTC)
            is_late = within is not None and datetime.now(UTC) - ended > timedelta(hours=within)
            good[name] = last["outcome"] in ("published", "unchanged") and not last["message"] and not is_late
            if not as_json:
                late = f", more than {within:g} hours ago" if is_late else ""
                print_out(f"{name}: {last['outcome']}, run {last['run_id']}, {ended:{_TIME}} UTC{late}", "bold")
                for reason in filter(None, [last["message"], *(last["degraded"] or ())]):
                    print_out(f"  {reason}")
        if not as_json:
            columns = [Column(name, no_wrap=True) for name in ("run", "night", "outcome")]
            figures = number_columns("asked", "failed", "refused", "reused", "tokens", "cost")
            out.print(make_table([*columns, "model", *figures], map(_night, rows[:limit]), collapse_padding=True))
    if as_json:
        catalogs = {name: {"good": good.get(name), "nights": to_json(rows[:limit])} for name, rows in nights.items()}
        print_json({"ledger": str(readable.file), "held_by": readable.holder, "catalogs": catalogs})
    return bool(good) and all(good.values())


def _night(row: Mapping[str, Any]) -> list[str]:
    counts = (row[key] for key in ("asked", "failed", "refused", "reused"))
    measured = "" if row["area"] in (None, _AREA) else " (measured)"
    return [
        *(str(row["run_id"]), f"{row['started_at']:%d %b}", f"{row['outcome']}{measured}", row["model"] or MISSING),
        *(MISSING if count is None else f"{count:,}" for count in counts),
        *(f"{row['prompt_tokens'] + row['completion_tokens']:,}", dollars(row["cost_usd"], "unknown")),
    ]


def show_done(done: Backup | Restored | Checked | Compacted | Discarded, *, as_json: bool) -> None:
    """Print what a command did to the ledger, or found in it; of a backup its path last."""
    if as_json:
        made_at = {"made_at": done.made_at.isoformat()} if isinstance(done, Backup) else {}
        print_json(asdict(done) | made_at)
    elif isinstance(done, Backup):
        copied = f" as it was at {done.made_at:{_TIME}} UTC: a build runs" if "backups" in done.source.parts else ""
        print_err(f"copied {done.source}{copied}; {megabytes(done.size)}, opened and whole")
        print_out(str(done.file), "bold")
    elif isinstance(done, Restored):
        made = datetime.fromtimestamp(done.source.stat().st_mtime, UTC)
        print_err(f"{done.ledger} was restored from {done.source} of {made:{_TIME}} UTC")
        if done.replaced:
            print_err(f"the file before it is {done.replaced}")
    elif isinstance(done, Checked):
        version = "unknown" if done.version is None else str(done.version)
        rows = ", ".join(f"{name} {count:,}" for name, count in done.rows.items() if count)
        out.print(facts_table([("ledger", str(done.file)), ("version", version), ("rows", rows or "none")]))
        for problem in done.problems or (done.note or "nothing is wrong",):
            print_out(problem)
    elif isinstance(done, Discarded):
        price = "at an unknown price" if done.cost_usd is None else f"which cost ${done.cost_usd:.6f}"
        what = f"{counted(done.answers, 'answer')} about {counted(len(done.tools), 'tool')}, {price}"
        tools = f": {named(done.tools)}" if done.tools else ""
        print_out(f"{'would discard' if done.dry_run else 'discarded'} {what}{tools}")
    else:
        dropped = f", without {done.vectors:,} vectors" if done.vectors else ""
        print_out(f"{done.ledger}: {megabytes(done.before)} → {megabytes(done.after)}{dropped}")


def texts_found(snapshot: Path, check: str) -> dict[str, set[str]]:
    """Return the texts that a check found fault with, by tool. Raises SettingsInvalid where there is none."""
    with Inspection.open(snapshot) as inspection:
        rows = inspection.rows(
            "SELECT check_name, tool_id, list(text) AS found FROM verdicts GROUP BY ALL ORDER BY ALL"
        )
    found = {row["tool_id"]: {*row["found"]} for row in rows if row["check_name"] == check}
    if not found:
        known = ", ".join(dict.fromkeys(row["check_name"] for row in rows)) or "none"
        raise SettingsInvalid(f"no verdict of the snapshot {snapshot} is of the check {check!r}: it has {known}")
    return found


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
        ledger.quarantine.decide(catalog, _AREA, release, RELEASED)
        ledger.quarantine.decide(catalog, _AREA, hold, HELD)
    if release:
        print_err(f"released, for the next build: {', '.join(release)}")
    if hold:
        print_err(f"held again, from the next build on: {', '.join(hold)}")


def show_quarantine(workspace: Path, catalog: str, *, as_json: bool) -> None:
    """Print the single tools of a catalog that are held back, and those that were released."""
    readable = open_to_read(workspace)
    with readable.connection as connection:
        stored = Quarantine(connection, readable.file).tools(catalog, _AREA)
    if as_json:
        print_json(
            {"catalog": catalog, "tools": [{**o.to_json(), "state": o.state, "run_id": o.run_id} for o in stored]}
        )
        return
    if readable.note:
        print_err(readable.note, "dim")
    if not stored:
        print_out(f"{catalog}: no single tool is held back")
        return
    rows = [
        (o.tool_id, o.state, o.kind, f"{o.since:%Y-%m-%d}", f"{o.requests:,} of {o.probes:,}", f"{o.distance:.2f}")
        for o in stored
    ]
    out.print(make_table(("tool", "state", "kind", "since", "requests entered", "distance"), rows))
    for one in stored:
        for request, served in one.examples:
            print_out(f"{one.tool_id}: {request[:_LONGEST]!r}, which {', '.join(served) or 'no tool'} had")
