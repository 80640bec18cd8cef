"""The course of a soak: what is done to the deployment and when, and what is observed of it meanwhile."""

import heapq
import json
import os
import random
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.support.processes import Held, held
from benchmarks.support.soak.answers import Known
from benchmarks.support.soak.deployment import Server, clients, serving, wait_until_asked
from benchmarks.support.soak.judging import Kill
from benchmarks.support.soak.publications import Publication, Publisher
from tests.support.object_storage import object_storage_server
from tests.support.proxy import Mode, Proxy, proxied

_SAMPLED_S = 5.0
_LONGEST_OUTAGE_S = 60.0
_SETTLE_S = 20.0  # after the clients have left


@dataclass(frozen=True)
class Plan:
    """How long, on how many workers, how often routers look, who asks how often, and what draws all this."""

    seconds: float
    workers: int
    watch: float
    clients: int
    rate: float
    seed: int


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
                _, _, name, act = heapq.heappop(due)
                act()
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
        draw, total = random.Random(self.plan.seed), self.plan.seconds
        self._push: Future[Publication] | None = None
        acts: list[tuple[float, str, Callable[[], object]]] = [
            (total * (number + draw.random() / 2) / 30, "publication", lambda: self._publish(background))
            for number in range(1, 29)
        ]
        if self.plan.workers > 1:
            acts += [
                (at, "kill", lambda: self._kill(server, draw))
                for at in sorted(draw.uniform(0.1, 0.93) * total for _ in range(30))
            ]
            acts += [(total * number / 10, "reload", server.reload) for number in range(1, 10)]
        outage = min(_LONGEST_OUTAGE_S, total / 15)
        modes: Sequence[tuple[float, Mode]] = ((0.4, "gone"), (0.65, "hangs"))
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

    def _kill(self, server: Server, draw: random.Random) -> None:
        """Kill a worker, unless another has not yet been replaced: two deaths at once leave nobody to answer."""
        workers = server.workers()
        if len(workers) < self.plan.workers:
            return
        pid = draw.choice(workers)
        self.kills.append(Kill(time.monotonic(), pid, frozenset(server.kill(pid))))

    def _sample(self, server: Server, cache: Path) -> None:
        found = {pid: now for pid in server.family() if (now := held(pid)) is not None}
        snapshots, size = _cached(cache)
        ready, _ = _get(server.port, "/readyz")
        _, metrics = _get(server.port, "/metrics")
        self.samples.append(Sample(time.monotonic(), found, snapshots, size, ready, _counted(metrics)))


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


def _get(port: int, path: str) -> tuple[int, str]:
    """Return status and content of a path; status 0 where the connection breaks, as it does with a killed worker."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except OSError:
        return 0, ""


def _counted(metrics: str) -> float:
    """Return how many requests for tools the server says that it has answered with 200."""
    rows = (line for line in metrics.splitlines() if line.startswith("quartermaster_http_requests_total{"))
    return sum(float(row.rpartition(" ")[2]) for row in rows if 'route="/v1/route' in row and 'status="200"' in row)


def _rows(journal: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
