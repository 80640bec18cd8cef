"""The course of a soak: what is done to the deployment and when, and what is observed of it meanwhile."""

import heapq
import json
import os
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.support.processes import Held, held
from simulations.soak.answers import Known
from simulations.soak.deployment import Server, clients, serving, value_of, wait_until_asked
from simulations.soak.judging import Kill
from simulations.soak.publications import Publication, Publisher
from tests.support.object_storage import object_storage_server
from tests.support.proxy import Mode, Proxy, proxied

_AGAIN_S = 2.0  # after which something is tried that could not be done yet
_COUNTED = 'quartermaster_http_requests_total{method="POST",route="/v1/route'
_SAMPLED_S = 5.0
_LONGEST_OUTAGE_S = 60.0
_SETTLE_S = 20.0  # after the clients have left


@dataclass(frozen=True)
class Plan:
    """How long, on how many workers, how often routers look, who asks how often, and what draws all this.

    `troubled` is the share of the time in which workers are killed and reloaded. In the rest the same ones serve, so
    that what grows with the publications that a process has seen shows.
    """

    seconds: float
    workers: int
    watch: float
    clients: int
    rate: float
    seed: int
    troubled: float = 0.5


@dataclass(frozen=True)
class Sample:
    """What was observed at a moment: each process by id, the first one first; the cache; the server's own word."""

    at: float
    processes: dict[int, Held]
    cached_snapshots: int
    cached_mb: float
    ready: int
    requests_counted: float


@dataclass
class Course:
    """A soak, and what became of it.

    Attributes:
        events: Time and name of everything that was done.
        rows: The journals of the clients; the last is that of the slow ones.
    """

    plan: Plan
    bases: Sequence[Path]
    bodies: Sequence[Known]
    work: Path
    begun: float = 0.0
    ended: float = 0.0
    events: list[tuple[float, str]] = field(default_factory=list)
    published: list[Publication] = field(default_factory=list)
    kills: list[Kill] = field(default_factory=list)
    outages: list[tuple[float, float]] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    rows: list[list[dict[str, Any]]] = field(default_factory=list)
    exit_code: int | None = None
    log: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Soak. Raises RuntimeError where the deployment or its clients do not start."""
        plan, log = self.plan, self.work / "server.log"
        cache = self.work / "cache"
        with object_storage_server() as storage, proxied(storage.port) as proxy, ThreadPoolExecutor(1) as background:
            bucket = storage.new_bucket()
            os.environ |= bucket.environment  # the publisher reaches the bucket at any time, the server by the proxy
            url = f"{bucket.url}/catalogs/soak"
            self._publisher = Publisher(url, self.bases, self.work)
            self.published.append(self._publisher.publish())
            options = ["--watch", f"{plan.watch:g}", "--cache-dir", str(cache)]
            if plan.workers > 1:
                options += ["--workers", f"{plan.workers}"]
            with serving(url, *options, environment=bucket.through(proxy.port).environment, log=log) as server:
                with clients(
                    server.port, self.bodies, self.work, count=plan.clients, rate=plan.rate, seed=plan.seed
                ) as journals:
                    wait_until_asked(journals[:-1])
                    self.begun = time.monotonic()
                    self._go_through(server, proxy, cache, background)
                    self.ended = time.monotonic()
                time.sleep(min(_SETTLE_S, plan.seconds / 10))
                self._sample(server, cache)
                self.exit_code = server.stop()
        self.rows = [_rows(journal) for journal in journals]
        self.log = log.read_text(encoding="utf-8").splitlines()

    def _go_through(self, server: Server, proxy: Proxy, cache: Path, background: ThreadPoolExecutor) -> None:
        """Do what is planned, each thing at its time, and take samples between."""
        due = [*self._planned(server, proxy, background)]
        heapq.heapify(due)
        next_sample = self.begun
        while (now := time.monotonic()) < self.begun + self.plan.seconds:
            while due and due[0][0] <= now - self.begun:
                _, number, name, act = heapq.heappop(due)
                if act() is False:
                    heapq.heappush(due, (now - self.begun + _AGAIN_S, number, name, act))
                else:
                    self.events.append((time.monotonic(), name))
            if now >= next_sample:
                self._sample(server, cache)
                next_sample = now + min(_SAMPLED_S, self.plan.seconds / 50)
            time.sleep(0.05)
        self._wait_for_push()

    def _planned(
        self, server: Server, proxy: Proxy, background: ThreadPoolExecutor
    ) -> list[tuple[float, int, str, Callable[[], object]]]:
        """Return what is to be done, by the second of the soak at which it is."""
        draw, total, minutes = random.Random(self.plan.seed), self.plan.seconds, self.plan.seconds / 60
        self._push: Future[Publication] | None = None
        acts: list[tuple[float, str, Callable[[], object]]] = [
            (at, "publication", lambda: self._publish(background)) for at in _times(draw, total, minutes)
        ]
        if self.plan.workers > 1:
            first, count = self.plan.troubled * total, self.plan.troubled * minutes
            acts += [(at, "kill", lambda: self._kill(server, draw)) for at in _times(draw, first, 1.5 * count)]
            acts += [(at, "reload", server.reload) for at in _times(draw, first, count / 2)]
        outage = min(_LONGEST_OUTAGE_S, total / 15)
        modes: Sequence[tuple[float, Mode]] = ((0.3, "gone"), (0.65, "hangs"))
        for share, mode in modes:
            start = share * total
            self.outages.append((self.begun + start, self.begun + start + outage))
            acts += [
                (start, f"bucket {mode}", lambda mode=mode: proxy.switch(mode)),  # type: ignore[misc]
                (start + outage, "bucket back", lambda: proxy.switch("open")),
            ]
        return [(at, number, name, act) for number, (at, name, act) in enumerate(acts)]

    def _publish(self, background: ThreadPoolExecutor) -> None:
        self._wait_for_push()
        self._push = background.submit(self._publisher.publish)

    def _wait_for_push(self) -> None:
        if self._push is not None:
            self.published.append(self._push.result())
            self._push = None

    def _kill(self, server: Server, draw: random.Random) -> bool:
        """Kill a worker; return False while another is not replaced yet: nobody would be left to answer."""
        if server.serving() < self.plan.workers:
            return False
        pid = draw.choice(server.workers())
        self.kills.append(Kill(time.monotonic(), pid, frozenset(server.kill(pid))))
        return True

    def _sample(self, server: Server, cache: Path) -> None:
        found = {pid: now for pid in server.family() if (now := held(pid)) is not None}
        snapshots, size = _cached(cache)
        ready, _ = server.get("/readyz")
        _, metrics = server.get("/metrics")
        self.samples.append(
            Sample(time.monotonic(), found, snapshots, size, ready, value_of(metrics, _COUNTED, 'status="200"'))
        )


def _cached(cache: Path) -> tuple[int, float]:
    """Return the number of snapshots in a cache, and its MB; a file that several snapshots have counts once."""
    sizes: dict[int, int] = {}
    snapshots = 0
    for folder, _, names in os.walk(cache):  # which passes over folders that go meanwhile
        snapshots += "manifest.json" in names and not Path(folder).name.startswith(".")
        for name in names:
            with suppress(FileNotFoundError):
                status = os.stat(os.path.join(folder, name))
                sizes[status.st_ino] = status.st_size
    return snapshots, round(sum(sizes.values()) / 1e6, 1)


def _times(draw: random.Random, total: float, count: float) -> list[float]:
    """Return moments, by the second, one drawn within each of `count` equal parts; none in the first and last 20th."""
    parts = max(1, round(count))
    return [total * (0.05 + 0.9 * (number + draw.random()) / parts) for number in range(parts)]


def _rows(journal: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
