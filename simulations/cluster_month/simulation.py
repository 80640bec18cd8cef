"""One month on the cluster: each day the tools change, at night two builders publish, and a fleet follows."""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from simulations.cluster_month.bucket import BucketReader
from simulations.cluster_month.builder import CATALOG, GRACE_S, Builder
from simulations.cluster_month.chain import KEPT, Version, publications, read_chain
from simulations.cluster_month.fleet import CACHES, Fleet, damage, empty
from simulations.cluster_month.operator import Decision, decide
from simulations.cluster_month.oracle import Evening, Oracle
from simulations.cluster_month.plan import BUCKET, Night
from simulations.cluster_month.replica import Replica
from simulations.cluster_month.workers import Workers, running_workers
from simulations.cluster_month.world import World
from simulations.month.model import Model
from simulations.month.oracle import Outcome
from tests.support.faults import Fault
from tests.support.faulty_proxy import faulty_proxy
from tests.support.object_storage import ObjectStorage

_BUILD_S = 1.5  # about as long as a build takes: when "anywhere" in it may be
_TINY_DISK = 2_000  # bytes
_AWAY_S = 8  # longer than a router tries before it says so


@dataclass
class NightResult:
    """One night: what was planned, how the builds ended, what serves, and the promises that were broken."""

    night: Night
    outcomes: Sequence[Outcome | None]
    current: str | None
    revision: int
    seconds: float
    violations: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        ends = "; ".join("did not build" if one is None else str(one) for one in self.outcomes)
        told = "".join(f"\n     ✗ {violation}" for violation in self.violations)
        return (
            f"{self.night.number:3} {self.night!s:60} {self.seconds:5.1f} s, revision {self.revision}, "
            f"{self.current}: {ends}{told}"
        )


class ClusterMonth:
    """Some nights in a folder, with an S3 server. `caches` names the cache of each router."""

    def __init__(
        self, folder: Path, storage: ObjectStorage, seed: int, nights: Sequence[Night], caches: Sequence[str] = CACHES
    ) -> None:
        self._folder, self._storage, self._seed, self._nights = folder, storage, seed, nights
        self._caches = caches
        self._bucket = storage.new_bucket()
        self._url = f"{self._bucket.url}/catalogs/{CATALOG}"
        self._world = World(seed)
        self._workers: Workers | None = None

    def play(self) -> Iterator[NightResult]:
        """Play the nights in turn, and yield each as it ends."""
        with ExitStack() as stack:
            self._proxies = [
                stack.enter_context(faulty_proxy(self._storage.port, self._seed + number)) for number in range(4)
            ]
            self._fleet_proxy = self._proxies[2]
            self._operator_bucket = self._bucket.through(self._proxies[3].port)
            for proxy in self._proxies:
                proxy.plan.keep = KEPT
            self._builders = [self._new_builder(number, stack) for number in range(2)]
            variables = {**self._bucket.through(self._fleet_proxy.port).environment}
            self._fleet = Fleet(self._folder / "caches", self._url, variables, self._caches)
            stack.callback(self._fleet.stop)
            self._stack = stack
            scratch = self._folder / "scratch"
            scratch.mkdir()
            reader = BucketReader(self._bucket.store(f"catalogs/{CATALOG}"), scratch)
            self._oracle = Oracle(reader, timedelta(seconds=GRACE_S))
            for night in self._nights:
                yield self._play(night)

    def _new_builder(self, number: int, stack: ExitStack) -> Builder:
        model = Model()
        proxy = self._proxies[number]
        return Builder(
            f"builder {number}",
            self._folder / f"builder-{number}",
            self._url,
            proxy,
            self._bucket.through(proxy.port),
            model,
            stack.enter_context(model.server()),
        )

    def _play(self, night: Night) -> NightResult:
        began = time.monotonic()
        published_before = len(publications(self._chain()))
        lost = self._pass_day(night)
        unlucky = self._builders[night.unlucky]
        self._break_bucket(night)
        self._break_builder(night, unlucky)
        lost += self._strike_reader(night)
        followed = [replica.number for replica in self._fleet.replicas if replica.running]
        outcomes = self._build(night, unlucky)
        if night.bucket == "away":
            time.sleep(_AWAY_S)
        self._mend()
        lost += self._fleet.start()
        contents = self._oracle.reader.read()
        statuses = self._fleet.wait_for(contents.current)
        gone = [f"{replica} died" for replica in self._fleet.replicas if not replica.running]
        chain = self._chain()
        evening = Evening(night, outcomes, contents, chain, statuses, [*lost, *gone], published_before, followed)
        truth = {f"office/{name}": text for name, text in self._world.tools.items()}
        violations = list(self._oracle.violations(evening, self._builders, truth))
        if self._unlost:
            violations.append("no worker was lost: the night has shown nothing")
        seconds = time.monotonic() - began
        return NightResult(night, outcomes, contents.current, len(chain), seconds, violations)

    def _chain(self) -> list[Version]:
        return read_chain(proxy.plan.log for proxy in self._proxies)

    def _pass_day(self, night: Night) -> list[str]:
        """Let the operator act, and the tools change; return what went wrong with the operator's commands."""
        problems, chain = [], self._chain()
        if chain and chain[-1].pinned:
            problems.append(self._decide("unpin"))
        if night.operator == "pin" and chain:
            problems.append(self._decide("pin"))
        if night.operator == "rollback" and chain:
            self._decide("rollback")  # there may be nothing to go back to, which it says
            return list(filter(None, problems))  # the tools stay: the same content must not come back
        if night.number:
            self._world.pass_day()
        return list(filter(None, problems))

    def _decide(self, decision: Decision) -> str:
        """Let the operator decide, on a host whose way to the bucket is good, and return why that failed."""
        problem = decide(
            decision, self._url, self._folder / "operator" / "snapshots" / CATALOG, self._operator_bucket.environment
        )
        return f"the operator could not {decision}: {problem}" if problem else ""

    def _break_bucket(self, night: Night) -> None:
        for proxy in self._proxies[:3]:
            proxy.plan.set(*(BUCKET[night.bucket]() if night.bucket else ()))
        if night.bucket == "away":
            self._fleet_proxy.refuse()
            self._builders[night.unlucky].proxy.refuse()

    def _break_builder(self, night: Night, unlucky: Builder) -> None:
        for number, builder in enumerate(self._builders):
            yesterday = night.builder == "reads yesterday's tools" and builder is unlucky
            # On most nights the two have not read the same: then both have something to publish.
            builder.tools = self._world.write(builder.source, days_ago=1 if yesterday else 0)
            builder.model.begin("every second one fails" if night.builder == "model fails" and number else "")
        kill = {
            "killed in the upload": Fault("break", "PUT", "*/files/*", skip=2, times=1, act=unlucky.kill),
            "killed before CURRENT": Fault("break", "PUT", KEPT, skip=1, times=1, act=unlucky.kill),
            "killed after CURRENT": Fault("lost answer", "PUT", KEPT, skip=1, times=1, act=unlucky.kill),
        }.get(night.builder)
        if kill is not None:
            unlucky.proxy.plan.set(kill, *(BUCKET[night.bucket]() if night.bucket else ()))
        if night.builder == "workspace lost":
            shutil.rmtree(unlucky.folder / "workspace", ignore_errors=True)
            unlucky.model.forget(())

    def _strike_reader(self, night: Night) -> list[str]:
        """Harm a router; return what it should have borne."""
        replica = self._fleet.replicas[night.struck % len(self._fleet.replicas)]
        if not night.reader or not replica.running:
            return []
        if night.reader == "disk full":
            replica.limit_files(_TINY_DISK)
            return []
        if night.reader == "cache emptied while it serves":
            empty(replica.cache)
            return []
        harmed: list[Replica] = [replica]
        if night.reader.startswith("cache"):
            harmed = self._fleet.sharing(replica)
        self._fleet.stop(*harmed)
        act: Mapping[str, Callable[[Path], object]] = {"cache damaged": damage, "cache emptied": empty}
        if night.reader in act:
            act[night.reader](replica.cache)
        if night.reader == "restarted without the bucket":
            self._fleet_proxy.refuse()
            return self._fleet.start()
        return []

    def _build(self, night: Night, unlucky: Builder) -> list[Outcome | None]:
        started = datetime.now(UTC)
        workers = self._started_workers() if night.builder == "builds on workers of which one dies" else None
        if workers:
            workers.lose_one()
        for builder in self._builders:
            builder.start_build(workers if builder is unlucky else None)
        if night.builder == "killed anywhere":
            time.sleep(_BUILD_S * night.moment)
            unlucky.kill()
        if night.operator == "rollback while builders publish":
            time.sleep(_BUILD_S * night.moment)
            self._decide("rollback")
        outcomes: list[Outcome | None] = [builder.end() for builder in self._builders]
        self._unlost = workers is not None and not workers.lost
        for builder, outcome in zip(self._builders, outcomes, strict=True):
            if outcome is not None and outcome.killed:
                self._oracle.forgive(builder)
            elif outcome is not None and outcome.code == 0 and not night.bucket:
                self._oracle.swept = started
        return outcomes

    def _started_workers(self) -> Workers:
        """Return the workers, which start when they are first needed: most months in the gate need none."""
        if self._workers is None:
            self._workers = self._stack.enter_context(running_workers(self._folder / "workers"))
        return self._workers

    def _mend(self) -> None:
        for proxy in self._proxies:
            proxy.plan.set()
            proxy.accept()
        for replica in self._fleet.replicas:
            if replica.running:
                replica.limit_files(-1)
