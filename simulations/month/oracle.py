"""What must hold after each night, whatever went wrong in it."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from pipeline.ledger import LEDGER_FILE
from pipeline.store import SnapshotStore
from pipeline.store.deltas.databases import open_whole
from router.contract import CATALOG_DB
from router.errors import SnapshotInvalid
from router.store import current_folder
from simulations.month.plan import Night
from simulations.month.vendors import SOURCES


@dataclass(frozen=True)
class Serving:
    """What serves: the snapshot's name and content hash; by tool id the description, the phrases and who wrote them."""

    snapshot: str
    content_hash: str
    descriptions: Mapping[str, str]
    writers: Mapping[str, str]
    phrases: Mapping[str, tuple[str, ...]]


@dataclass
class Outcome:
    """What a night did: its exit code and streams, the report that it printed, and the events that the hook told."""

    code: int
    stdout: str
    stderr: str
    report: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[str] = ()

    @property
    def killed(self) -> bool:
        """Whether the night ended by SIGKILL."""
        return self.code == -9

    @property
    def told(self) -> bool:
        """Whether somebody who reads the exit code and the report knows that the night was not good."""
        return self.code != 0 or bool(self.report.get("degraded")) or bool(self.report.get("held"))

    @property
    def reasons(self) -> list[str]:
        """Why the night was not good, as its report says."""
        return [str(reason) for reason in (*self.report.get("held", ()), *self.report.get("degraded", ()))]

    def __str__(self) -> str:
        outcome = self.report.get("outcome", "killed" if self.killed else f"exit code {self.code}")
        return f"{outcome}{': ' if self.reasons else ''}{'; '.join(self.reasons)[:160]}"


def read_serving(store: SnapshotStore) -> Serving | None:
    """Return what serves, every file verified; None before the first publication. Raises SnapshotInvalid."""
    if store.current() is None:
        return None
    folder = current_folder(store)
    snapshot = open_whole(folder)
    with duckdb.connect(str(folder / CATALOG_DB), read_only=True) as connection:
        descriptions = dict(connection.execute("SELECT tool_id, description FROM tools").fetchall())
        rows = connection.execute("SELECT tool_id, generator, user_phrases FROM expansions ORDER BY 1").fetchall()
    writers, phrases = {row[0]: row[1] for row in rows}, {row[0]: tuple(row[2]) for row in rows}
    return Serving(snapshot.manifest.snapshot, snapshot.manifest.content_hash, descriptions, writers, phrases)


@dataclass
class Oracle:
    """Checks each night against what it knows of the world.

    `forgiven` are questions that may be paid for once more, `in_flight` at most so many of them: their answers were in
    flight when the process was killed.
    `withheld` are content hashes that were rolled back from. `accepting` tells that the vendors withdrew so many tools
    that a gate waits for the operator's word, `pinned` the snapshot that must go on serving, `heard` the last trouble.
    """

    store: SnapshotStore
    workspace: Path
    forgiven: set[str] = field(default_factory=set)
    in_flight: int = 0
    withheld: set[str] = field(default_factory=set)
    accepting: bool = False
    pinned: str = ""
    heard: str = ""

    def violations(
        self,
        night: Night,
        outcome: Outcome,
        before: Serving | None,
        truth: Mapping[str, str],
        asked_again: list[str],
        unanswered: int,
    ) -> Iterator[str]:
        """Yield a sentence for each promise that the night broke."""
        try:
            after = read_serving(self.store)
        except SnapshotInvalid as error:
            yield f"what serves is no whole snapshot: {error}"
            return
        yield from self._ending(outcome)
        if before is not None:
            yield from self._serving(night, before, after, truth)
        yield from self._payments(asked_again)
        yield from self._telling(night, outcome, unanswered)
        if night.quiet and after is not None and not (self.accepting or self.pinned or outcome.report.get("held")):
            yield from _fresh(after, truth)
        if outcome.report.get("outcome") in ("published", "unchanged", "held"):
            yield from self._tidiness()

    def _ending(self, outcome: Outcome) -> Iterator[str]:
        if "Traceback" in outcome.stderr or outcome.code in (70, 139, 134):
            yield f"the night ended in an unforeseen error (exit code {outcome.code}): {outcome.stderr[-300:]}"
        expected = {"published": 0, "unchanged": 0, "held": 1}.get(str(outcome.report.get("outcome")))
        if expected is not None and outcome.code != expected:
            yield f"{outcome.report['outcome']} with exit code {outcome.code}"

    def _serving(self, night: Night, before: Serving, after: Serving | None, truth: Mapping[str, str]) -> Iterator[str]:
        if after is None:
            yield "nothing serves any more"
            return
        gone = set(before.descriptions) - set(after.descriptions)
        if lost := sorted(gone & set(truth)):
            yield f"{len(lost)} tools vanished that their vendors still have, such as {lost[0]}"
        for source in ("", *SOURCES):
            removed, served = _of(gone, source), _of(before.descriptions, source)
            if len(removed) >= 3 and len(removed) > 0.2 * len(served):
                yield f"{len(removed)} of {len(served)} tools {source} were removed without a word of the gate"
        worse = [
            tool_id
            for tool_id, writer in before.writers.items()
            if writer == "openai" and tool_id in after.descriptions and after.writers.get(tool_id) != "openai"
        ]
        if worse:
            yield f"{len(worse)} tools lost their paid phrases, such as {worse[0]}"
        if after.content_hash in self.withheld and after.snapshot != before.snapshot:
            yield f"{after.snapshot} serves again, though it was rolled back from"
        if self.pinned and after.snapshot != self.pinned:
            yield f"{after.snapshot} serves, though {self.pinned} is pinned"

    def _payments(self, asked_again: list[str]) -> Iterator[str]:
        forgiven = [question for question in asked_again if question in self.forgiven][: self.in_flight]
        self.forgiven -= set(forgiven)
        self.in_flight -= len(forgiven)
        if repeated := len(asked_again) - len(forgiven):
            yield f"{repeated} questions were paid for twice"

    def _telling(self, night: Night, outcome: Outcome, unanswered: int) -> Iterator[str]:
        harmed = bool(night.source_fault) or unanswered > 0
        if harmed and not outcome.told:
            yield f"nobody was told of: {night}"
        if not outcome.killed:
            trouble = re.sub(r"\d\S*( \w+)?", "", f"{outcome.reasons}") if outcome.told else ""
            lasts = bool(trouble) and trouble == self.heard  # and so is not told each night
            if outcome.told != bool(set(outcome.events) - {"recovered"}) and not lasts:
                yield f"the hook told {list(outcome.events)} of: {outcome}"
            self.heard = trouble
        expected = self.accepting or self.pinned or self.withheld
        if night.quiet and outcome.told and not expected:
            yield f"a quiet night raised an alarm: {outcome}"

    def _tidiness(self) -> Iterator[str]:
        if leftovers := [path.name for path in self.store.folder.glob(".*") if path.is_dir()]:
            yield f"a staging folder was left behind: {leftovers[0]}"
        if (self.workspace / LEDGER_FILE).is_file():
            with duckdb.connect(str(self.workspace / LEDGER_FILE), read_only=True) as connection:
                ((running,),) = connection.execute("SELECT count(*) FROM runs WHERE outcome = 'running'").fetchall()
            if running:
                yield f"{running} runs of the ledger are still open"


def _of(tool_ids: Collection[str], source: str) -> list[str]:
    """Return the ids of a source's tools; all where `source` is empty."""
    return [tool_id for tool_id in tool_ids if tool_id.startswith(f"{source}/" if source else "")]


def _fresh(after: Serving, truth: Mapping[str, str]) -> Iterator[str]:
    if missing := sorted(set(truth) - set(after.descriptions)):
        yield f"{len(missing)} tools are missing after a quiet night, such as {missing[0]}"
    if extra := sorted(set(after.descriptions) - set(truth)):
        yield f"{len(extra)} tools are served that no vendor has, such as {extra[0]}"
    old = sorted(tool_id for tool_id, text in truth.items() if after.descriptions.get(tool_id, text) != text)
    if old:
        yield f"{len(old)} descriptions are old after a quiet night, such as that of {old[0]}"


def parse_report(stdout: str) -> Mapping[str, Any]:
    """Return the JSON that `build --json` printed; empty where it printed none."""
    lines = [line for line in stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {}
