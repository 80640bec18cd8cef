"""Prometheus metrics of requests, answers and stages, and gauges of what serves. No label holds text of a request.

Counts of several workers are added up by prometheus_client's multiprocess mode. Gauges of what serves are those of the
worker that answers the scrape.
"""

import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from quartermaster.needs import OUTCOMES, ModelNeeds
from router.answer.results import RoutedTools
from router.router import Router

# Histogram buckets, from a lexical answer over a small catalog to several steps over a million tools.
_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
_METHODS = frozenset(("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"))


class Metrics:
    """The metrics of one app, in a registry of their own. Threads may share them."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self._registry = CollectorRegistry()
        counter = partial(Counter, namespace="quartermaster", registry=self._registry)
        histogram = partial(Histogram, namespace="quartermaster", registry=self._registry, buckets=_BUCKETS_S)
        self._requests = counter("http_requests", "Requests answered.", ("route", "method", "status"))
        duration = "From a request's first byte to its answer's last."
        self._seconds = histogram("http_request_seconds", duration, ("route",))
        self._stages = histogram("route_stage_seconds", "Stages of routing.", ("stage",))
        self._answers = counter("answers", "Requests routed by the API.", ("recipe",))
        self._none_fits = counter("none_fits", "Answers that say no tool fits.")
        self._failed = counter("selection_failed", "Answers whose selection failed.")
        self._dropped = counter("dropped", "Tools found and left out, by what left them out.", ("by",))
        self._reloads = counter("reloads", "Changes of the serving snapshot that were seen.")
        self._hits = counter("request_cache_hits", "Vectors found in the cache.")
        self._misses = counter("request_cache_misses", "Vectors computed.")
        self._needs = counter("needs", "Requests whose needs a model was to say, by outcome.", ("outcome",))
        self._needs_tokens = counter("needs_tokens", "Tokens of that model, as its server counts them.", ("kind",))
        self._seen_needs: dict[str, int] = {}
        self.workers = Gauge(
            "quartermaster_workers",
            "Processes that take requests.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self._seen = (router.manifest.snapshot, 0, 0)
        self._looking = threading.Lock()
        self._registry.register(_Gauges(router))

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request and its duration; `status` 0 means that the client left before the answer."""
        # A method can be any word: a label for each would let a client fill the memory.
        self._requests.labels(route, method if method in _METHODS else "other", str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def answer(self, routed: RoutedTools) -> None:
        """Count an answer: its recipe, outcome, dropped tools and stage durations."""
        self._look()
        self._answers.labels(routed.recipe).inc()
        self._none_fits.inc(int(routed.none_fits))
        self._failed.inc(int(bool(routed.failed)))
        for dropped in routed.dropped:
            self._dropped.labels(dropped.by).inc()
        for stage, milliseconds in routed.ms.items():
            self._stages.labels(stage).observe(milliseconds / 1_000)

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        self._look()
        folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
        if folder is None:
            return generate_latest(self._registry)
        for file in Path(folder).glob("gauge_live*.db"):
            pid = int(file.stem.rpartition("_")[2])
            if not _is_alive(pid):
                with suppress(FileNotFoundError):  # another worker was faster
                    mark_process_dead(pid, folder)  # type: ignore[no-untyped-call]
        registry = CollectorRegistry()
        MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]
        registry.register(_Gauges(self._router))
        return generate_latest(registry)

    def _look(self) -> None:
        """Count what the router itself has counted since the last look: changes of the snapshot, use of its cache."""
        cache = self._router.cache
        now = (self._router.manifest.snapshot, cache.hits, cache.misses)
        with self._looking:
            (snapshot, hits, misses), self._seen = self._seen, now
        if snapshot != now[0]:
            self._reloads.inc()
        self._look_at_needs()
        # Another encoder comes with a new cache, which counts from 0.
        self._hits.inc(cache.hits - hits if cache.hits >= hits else cache.hits)
        self._misses.inc(cache.misses - misses if cache.misses >= misses else cache.misses)

    def _look_at_needs(self) -> None:
        """Count what became of requests whose needs a model was to say, since the last look."""
        if not isinstance(asked := self._router.ask_needs, ModelNeeds):
            return
        with self._looking:
            seen, self._seen_needs = self._seen_needs, asked.counts
            for name, count in self._seen_needs.items():
                counter = self._needs if name in OUTCOMES else self._needs_tokens
                counter.labels(name.removesuffix("_tokens")).inc(count - seen.get(name, 0))


class _Gauges(Collector):
    """The state of what serves, as it is at each scrape."""

    def __init__(self, router: Router) -> None:
        self._router = router

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics as they are now."""
        router, manifest, freshness = self._router, self._router.manifest, self._router.freshness
        names = {"snapshot": manifest.snapshot, "catalog": manifest.catalog}
        yield InfoMetricFamily("quartermaster_snapshot", "The snapshot that serves.", names)
        yield _gauge("tools", "Tools that are served.", len(router))
        yield _gauge(
            "publication_refused",
            "1 while the newest publication is refused, or cannot be read, and the snapshot before it serves.",
            bool(router.refusal),
        )
        yield _gauge("request_cache_size", "Vectors in the cache.", router.cache.size)
        with suppress(ValueError, OverflowError):  # not a time, or not one that a clock shows
            built = datetime.fromisoformat(manifest.created_at).timestamp()
            age = max(time.time() - built, 0.0)
            yield _gauge("snapshot_age_seconds", "Since the serving snapshot was built.", age)
        if freshness.watch_s is not None:
            yield _gauge(
                "seconds_since_source_was_read",
                "Since the source of snapshots last said what is newest; +Inf where it has not since the start.",
                _since(freshness.read_at),
            )
            yield _gauge(
                "seconds_since_newest_served",
                "Since the newest snapshot was last found to be what serves; +Inf where it was not since the start.",
                _since(freshness.current_at),
            )

    def describe(self) -> Iterable[Metric]:
        """Return nothing: the names are known at a scrape."""
        return ()


def _gauge(name: str, documentation: str, value: float) -> Metric:
    return GaugeMetricFamily(f"quartermaster_{name}", documentation, value)


def _since(moment: float | None) -> float:
    return float("inf") if moment is None else max(time.monotonic() - moment, 0.0)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
