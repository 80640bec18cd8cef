"""Discard stored answers: they stay in the ledger, marked, and no build reads them again."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pipeline.errors import SettingsInvalid
from pipeline.ledger.commands import existing
from pipeline.ledger.database import utc_now
from pipeline.ledger.ledger import Ledger
from pipeline.ledger.lock import Tell
from router.fingerprint import canonical_json
from router.snapshot.facets import matching_names


@dataclass(frozen=True, slots=True)
class Discarded:
    """What was discarded, or would be: answers, what they cost (None where a price is unknown), and of which tools."""

    answers: int
    cost_usd: float | None
    dry_run: bool
    tools: tuple[str, ...] = ()


def discard(
    workspace: Path,
    tools: Sequence[str] = (),
    *,
    run: int | None = None,
    model: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    found: Mapping[str, Set[str]] | None = None,
    dry_run: bool = False,
    wait_s: float = 0.0,
    tell: Tell = lambda _: None,
) -> Discarded:
    """Mark models' answers that meet all that is given as discarded, so that the next build asks again.

    `tools` are ids or globs, times are UTC. `found` has, by tool id, texts that a check named: answers with one of them
    are meant. With `dry_run`, only say which. Raises SettingsInvalid where nothing is given, RunAborted where there is
    no ledger or a build has it.
    """
    stored = {"run": run, "model": model, "since": since, "until": until}
    if not tools and found is None and not any(stored.values()):
        raise SettingsInvalid("say which answers: a TOOL, --run, --model, --since, --until or --check; '*' takes all")
    existing(workspace)
    with Ledger.open(workspace, wait_s, tell=tell) as ledger, ledger.transaction():
        rows = ledger.rows(
            """
            SELECT rowid, tool_id, cost_usd, expansion FROM expansions
            WHERE discarded_at IS NULL AND generator NOT IN ('file', 'lexicon')
                AND run_id = coalesce($run, run_id) AND model = coalesce($model, model)
                AND created_at >= coalesce($since, created_at) AND created_at < coalesce($until, TIMESTAMP 'infinity')
            """,
            stored,
        )
        ids = sorted({row[1] for row in rows})
        chosen = {tool_id for pattern in tools or ("*",) for tool_id in matching_names(pattern, ids)}
        rows = [row for row in rows if row[1] in chosen]
        if found is not None:  # as JSON, a text of an answer stands in quotes
            rows = [row for row in rows if any(canonical_json(text) in row[3] for text in found.get(row[1], ()))]
        if not dry_run:
            ledger.execute(
                "UPDATE expansions SET discarded_at = $now WHERE rowid IN (SELECT unnest($rows::BIGINT[]))",
                {"now": utc_now(), "rows": [row[0] for row in rows]},
            )
    costs = [cost for _, _, cost, _ in rows]
    cost = None if None in costs else sum(costs)
    return Discarded(len(rows), cost, dry_run, tuple(sorted({row[1] for row in rows})))
