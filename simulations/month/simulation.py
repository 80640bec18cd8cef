"""One month: each day the world changes, an operator acts, at night a build runs, and the oracle looks at it."""

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from pipeline.ledger import LEDGER_FILE
from pipeline.store import SnapshotStore
from simulations.month import twin
from simulations.month.churn import Churn
from simulations.month.model import Model
from simulations.month.night import at_night, harm_ledger, interrupted_night
from simulations.month.oracle import Oracle, Outcome, Serving, parse_report, read_serving
from simulations.month.plan import Night
from simulations.month.schedulers import rolling_restart
from simulations.month.vendors import FORMATS, SOURCES, Vendors

_DISK_FULL_BYTES = 300_000
_CONCURRENCY = 4
_EVENTS = "events.jsonl"
_SETTINGS = """
name = "month"

[notify]
remind_after = 1
command = ["/bin/sh", "-c", "cat >> {events} && echo >> {events}"]

[vectors]
encoder = "{encoder}"

[enrichment]
concurrency = {concurrency}
max_retries = 1
retry_delay_s = 0.01
timeout_s = 5
"""


@dataclass
class NightResult:
    """One night of a month: what was planned, what happened, and the promises that were broken."""

    night: Night
    outcome: Outcome
    serving: Serving | None
    asked: int
    violations: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        tools = len(self.serving.descriptions) if self.serving else 0
        told = "".join(f"\n     ✗ {violation}" for violation in self.violations)
        return f"{self.night.number:3} {self.night!s:42} {tools:3} tools, {self.asked:2} asked, {self.outcome}{told}"


class Month:
    """Some nights in a folder. `seed` draws how the vendors change, `settings` is added to the catalog's."""

    def __init__(
        self, folder: Path, seed: int, nights: Sequence[Night], settings: str = "", encoder: str = "none"
    ) -> None:
        self._folder = folder
        self._catalog = folder / "month"
        self._catalog.mkdir(parents=True)
        self._workspace = folder / "workspace"
        self._nights = nights
        self._settings = _SETTINGS.format(encoder=encoder, events=_EVENTS, concurrency=_CONCURRENCY) + settings
        self._vendors = Vendors(random.Random(seed), self._catalog)
        self._model = Model()
        self._store = SnapshotStore(self._workspace, "month")
        self._oracle = Oracle(self._store, self._workspace)
        self._churn = Churn()

    def play(self) -> Iterator[NightResult]:
        """Play the nights in turn, and yield each as it ends."""
        with ExitStack() as stack:
            stack.enter_context(self._vendors.serving())
            server = stack.enter_context(self._model.server())
            self._write_catalog()
            nights = iter(self._nights)
            for night in nights:
                if night.evening:
                    yield from self._play_evening([night, next(nights)], server.base_url)
                else:
                    yield self._play(night, server.base_url)

    def _play_evening(self, nights: Sequence[Night], base_url: str) -> Iterator[NightResult]:
        """Play a bad evening and the night after it, and compare them with their twins, played first."""
        oracle = ("forgiven", "in_flight", "withheld", "accepting", "pinned", "heard")
        world = [(self._vendors, ("tools", "random")), (self._model, ("answered", "tool_ids")), (self._oracle, oracle)]
        with twin.rewound(self._folder, [*world, (self._churn, tuple(vars(self._churn)))]):
            twins = [self._play(replace(night, evening=""), base_url) for night in nights]
        good = twin.Pair([one.serving for one in twins], [one.asked for one in twins])
        before = read_serving(self._store)
        bad = self._play(nights[0], base_url)
        bad.violations += twin.of_the_evening(before, bad.serving, self._model.said)
        bad.violations += [f"without the evening: {broken}" for one in twins for broken in one.violations]
        yield bad
        after = self._play(nights[1], base_url)
        pair = twin.Pair([bad.serving, after.serving], [bad.asked, after.asked])
        after.violations += twin.of_the_night_after(pair, good, nights[1].stamped)
        yield after

    def _play(self, night: Night, base_url: str) -> NightResult:
        self._vendors.faults = {night.source: night.source_fault} if night.source_fault else {}
        self._vendors.stamped, self._vendors.today = night.stamped, f"{night.at:%Y-%m-%d %H:%M} in night {night.number}"
        self._pass_day(night)
        self._vendors.write_file()
        self._model.begin(night.model_fault or night.evening)
        before = read_serving(self._store)
        if night.host == "ledger lost":
            self._model.forget(before.descriptions if before else ())
        outcome = self._run(night, base_url)
        asked = list(self._model.tonight)
        if outcome.killed or night.host == "disk full":
            self._oracle.forgiven |= set(asked)
            self._oracle.in_flight += _CONCURRENCY
        truth = {f"{source}/{name}": text for source in SOURCES for name, text in self._vendors.listed(source).items()}
        violations = list(
            self._oracle.violations(night, outcome, before, truth, list(self._model.again), self._model.unanswered)
        )
        violations += self._churn.violations(night, outcome, [self._model.tool_ids[one] for one in asked], truth)
        if night.operator == "restarts schedulers":
            violations += rolling_restart(self._catalog, self._workspace)
        return NightResult(night, outcome, read_serving(self._store), len(asked), violations)

    def _run(self, night: Night, base_url: str) -> Outcome:
        variables = {"XDG_STATE_HOME": str(self._folder / "state")}  # not the user's: what is allowed here ends here
        if night.host != "no key":
            variables |= {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "sk-loopback"}
        options = ["--max-tools", "1"] if night.host == "budget" else []
        if night.host == "no generator":
            options = ["--generator", "none"]
        if night.host == "new model":
            variables["QUARTERMASTER_ENRICHMENT__MODEL"] = "gpt-next"
            options = ["--max-tools", "5"]
        harm_ledger(self._workspace / LEDGER_FILE, night.host)
        arguments = ("build", self._catalog, "--workspace", self._workspace, "--json", "--allow-commands", *options)
        if night.host in ("killed", "killed early", "disk full"):
            limit = {"max_file_bytes": _DISK_FULL_BYTES} if night.host == "disk full" else {"kill_at": night.kill_at}
            done = interrupted_night(self._folder, night.at, *arguments, variables=variables, **limit)
        else:
            done = at_night(self._folder, night.at, *arguments, **variables)
        return Outcome(done.returncode, done.stdout, done.stderr, parse_report(done.stdout), self._heard())

    def _heard(self) -> list[str]:
        """Return the events that the hook was called for this night."""
        file = self._catalog / _EVENTS
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
        file.unlink(missing_ok=True)
        return [event for line in lines if line for event in json.loads(line)["events"]]

    def _pass_day(self, night: Night) -> None:
        """Let the operator act in the morning, and the vendors change over the day."""
        oracle = self._oracle
        if oracle.pinned:
            self._snapshots(night, "--unpin")
            oracle.pinned = ""
        if oracle.accepting:
            held = [stored.name for stored in self._store.snapshots() if stored.held]
            oracle.accepting = not (held and self._snapshots(night, "--use", held[0]))
        serving = read_serving(self._store)
        if night.operator == "rollback" and serving:
            if self._snapshots(night, "--rollback"):
                oracle.withheld.add(serving.content_hash)
            return  # the vendors change nothing: the same content must not come back
        if night.operator == "pin" and serving and self._snapshots(night, "--pin"):
            oracle.pinned = serving.snapshot
        if night.operator == "withdraws half":
            self._vendors.withdraw("payments")
            oracle.accepting = True
        elif night.overhaul:
            self._vendors.overhaul(night.number // 4)
        elif night.number:
            self._vendors.change()

    def _snapshots(self, night: Night, *arguments: str) -> bool:
        done = at_night(self._folder, night.at, "snapshots", "month", *arguments, "--workspace", str(self._workspace))
        return done.returncode == 0

    def _write_catalog(self) -> None:
        sources = [
            f'[[source]]\nprovider = "{name}"\nformat = "{FORMATS[name]}"\ntimeout_s = 5\n'
            + ('path = "files.json"\n' if name == "files" else f'url = "{self._vendors.url}/{name}"\n')
            for name in SOURCES
        ]
        (self._catalog / "catalog.toml").write_text(self._settings + "\n".join(sources), encoding="utf-8")
