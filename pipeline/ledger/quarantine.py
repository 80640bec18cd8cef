"""Tools that were held back by themselves, by their content, and what was decided about them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from pipeline.ledger.database import Database, utc_now

HELD, RELEASED = "held", "released"
Examples = tuple[tuple[str, tuple[str, ...]], ...]
_COPIED = ("tool_id", "kind", "content_hash", "requests", "probes", "distance")


@dataclass(frozen=True, slots=True)
class QuarantinedTool:
    """A tool that is held back by itself, or was released.

    Attributes:
        tool_id: Its id.
        kind: "new", which is left out, or "changed", which is found by what it was.
        content_hash: The hash of its record and texts, which the decision about it is for.
        since: When it was first held back, in UTC.
        requests: How many requests of other providers' tools it would enter the first five of.
        probes: How many requests it was tried on.
        distance: How far these requests are from its name and first sentence, in the mean, from 0 to 1.
        examples: Some of them, each with the ids of the tools that serve it now.
        announced: Whether an earlier build has announced it.
        state: HELD or RELEASED.
        run_id: The run that held it back first.
    """

    tool_id: str
    kind: str
    content_hash: str
    since: datetime
    requests: int
    probes: int
    distance: float
    examples: Examples = ()
    announced: bool = False
    state: str = HELD
    run_id: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, for programs."""
        return {
            "tool_id": self.tool_id,
            "kind": self.kind,
            "since": self.since.isoformat(timespec="seconds"),
            "requests": self.requests,
            "probes": self.probes,
            "distance": round(self.distance, 3),
            "examples": [{"request": request, "served": list(served)} for request, served in self.examples],
            "content_hash": self.content_hash,
        }

    def __str__(self) -> str:
        """Return a sentence about it."""
        what = "is left out" if self.kind == "new" else "is found by what it was when it was last reviewed"
        if not self.probes:
            return f"{self.tool_id} {what}: too many tools of its source made the model write phrases of other tools"
        return (
            f"{self.tool_id} {what}: it would enter the first five of {self.requests:,} of {self.probes:,} requests of "
            f"other tools, which its name and first sentence do not fit (distance {self.distance:.2f})"
        )


class Quarantine(Database):
    """The tables of tools that are held back, and of what changed tools are measured against, by catalog and area."""

    def tools(self, catalog: str, area: str) -> list[QuarantinedTool]:
        """Return the tools that are held back and those that were released, sorted by time and id.

        None of a ledger of an earlier version, which has no such table.
        """
        if not self.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = 'quarantine'"):
            return []
        rows = self.rows(
            f"SELECT since, examples, told, state, run_id, {', '.join(_COPIED)} FROM quarantine "
            "WHERE catalog = ? AND area = ? ORDER BY since, tool_id, content_hash",
            [catalog, area],
        )
        return [
            QuarantinedTool(
                since=since.replace(tzinfo=UTC),
                examples=msgspec.json.decode(examples, type=Examples),
                announced=announced,
                state=state,
                run_id=run,
                **dict(zip(_COPIED, copied, strict=True)),
            )
            for since, examples, announced, state, run, *copied in rows
        ]

    def put(
        self, run: int, catalog: str, area: str, held: Sequence[QuarantinedTool], current: Mapping[str, str]
    ) -> None:
        """Store the tools that a run holds back, in the place of those held before.

        `current` has the content hashes of the tools that the run looked at: what else was held of these ids is
        forgotten, and what is held of other ids stays, as of a source that could not be read.
        """
        rows = [
            {
                **{name: getattr(one, name) for name in _COPIED},
                "since": one.since.astimezone(UTC).replace(tzinfo=None),
                "run_id": one.run_id or run,
                "examples": json.dumps(one.examples, ensure_ascii=False),
                "told": one.announced,
            }
            for one in held
        ]
        with self.transaction():
            self.execute(
                "DELETE FROM quarantine WHERE catalog = ? AND area = ? AND state = ? AND list_contains(?, tool_id)",
                [catalog, area, HELD, list(current)],
            )
            self.insert("quarantine", rows, catalog=catalog, area=area, state=HELD)

    def mark_announced(self, catalog: str, area: str) -> None:
        """Remember that a build has announced all tools that are held back."""
        self.execute("UPDATE quarantine SET told = true WHERE catalog = ? AND area = ?", [catalog, area])

    def baselines(self, catalog: str, area: str) -> dict[str, str]:
        """Return, by tool id, what each changed tool was when it was last reviewed, or first served."""
        return dict(self.rows("SELECT tool_id, served FROM baselines WHERE catalog = ? AND area = ?", [catalog, area]))

    def put_baselines(self, run: int, catalog: str, area: str, served: Mapping[str, str], ended: Sequence[str]) -> None:
        """Forget the baselines of the `ended` ids, and store those `served`, by id, that have none."""
        rows = [{"tool_id": tool_id, "served": text} for tool_id, text in served.items()]
        with self.transaction():
            self.execute(
                "DELETE FROM baselines WHERE catalog = ? AND area = ? AND list_contains(?, tool_id)",
                [catalog, area, list(ended)],
            )
            self.insert("baselines", rows, key=["catalog", "area", "tool_id"], catalog=catalog, area=area, run_id=run)

    def decide(self, catalog: str, area: str, tool_ids: Sequence[str], state: str) -> None:
        """Let tools serve from the next build on (RELEASED), until they change, or take that back (HELD)."""
        self.execute(
            "UPDATE quarantine SET state = ?, decided_at = ? WHERE catalog = ? AND area = ? AND state != ? "
            "AND list_contains(?, tool_id)",
            [state, utc_now() if state == RELEASED else None, catalog, area, state, list(tool_ids)],
        )
