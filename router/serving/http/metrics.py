"""Prometheus metrics of requests, answers and stages. No label holds text of a request."""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from router.answer.results import RoutedTools
from router.router import Router

# Histogram buckets, from a lexical answer over a small catalog to several steps over a million tools.
_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
_METHODS = frozenset(("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"))


class Metrics:
    """The metrics of one app, in a registry of their own."""

    def __init__(self, router: Router) -> None:
        self._registry = registry = CollectorRegistry()
        prefix = "quartermaster"
        self._requests = Counter(
            f"{prefix}_http_requests", "Requests answered.", ("route", "method", "status"), registry=registry
        )
        self._seconds = Histogram(
            f"{prefix}_http_request_seconds",
            "From a request's first byte to its answer's last.",
            ("route",),
            buckets=_BUCKETS_S,
            registry=registry,
        )
        self._stages = Histogram(
            f"{prefix}_route_stage_seconds", "Stages of routing.", ("stage",), buckets=_BUCKETS_S, registry=registry
        )
        self._answers = Counter(f"{prefix}_answers", "Requests routed by the API.", ("recipe",), registry=registry)
        self._none_fits = Counter(f"{prefix}_none_fits", "Answers that say no tool fits.", registry=registry)
        self._failed = Counter(f"{prefix}_selection_failed", "Answers whose selection failed.", registry=registry)
        self._dropped = Counter(
            f"{prefix}_dropped", "Tools found and left out, by what left them out.", ("by",), registry=registry
        )
        registry.register(_RouterCollector(router))

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request and its duration; `status` 0 means that the client left before the answer."""
        # A method can be any word: a label for each would let a client fill the memory.
        self._requests.labels(route, method if method in _METHODS else "other", str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def answer(self, routed: RoutedTools) -> None:
        """Count an answer: its recipe, outcome, dropped tools and stage durations."""
        self._answers.labels(routed.recipe).inc()
        if routed.none_fits:
            self._none_fits.inc()
        if routed.failed:
            self._failed.inc()
        for dropped in routed.dropped:
            self._dropped.labels(dropped.by).inc()
        for stage, milliseconds in routed.ms.items():
            self._stages.labels(stage).observe(milliseconds / 1_000)

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)


class _RouterCollector(Collector):
    """Reads the snapshot, the tool count and the request cache from the router at each scrape."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self._snapshot = router.manifest.snapshot
        self._reloads = 0

    def collect(self) -> Iterator[Metric]:
        manifest, cache = self._router.manifest, self._router.cache
        self._reloads += manifest.snapshot != self._snapshot
        self._snapshot = manifest.snapshot
        snapshot = InfoMetricFamily("quartermaster_snapshot", "The snapshot that serves.")
        snapshot.add_metric([], {"snapshot": manifest.snapshot, "catalog": manifest.catalog})
        yield snapshot
        yield GaugeMetricFamily("quartermaster_tools", "Tools that are served.", len(self._router))
        yield CounterMetricFamily(
            "quartermaster_reloads",
            "Changes of the serving snapshot, as seen from one scrape to the next.",
            self._reloads,
        )
        yield GaugeMetricFamily(
            "quartermaster_publication_refused",
            "1 while the newest publication is refused, or cannot be read, and the snapshot before it serves.",
            bool(self._router.refusal),
        )
        yield CounterMetricFamily("quartermaster_request_cache_hits", "Vectors found in the cache.", cache.hits)
        yield CounterMetricFamily("quartermaster_request_cache_misses", "Vectors computed.", cache.misses)
        yield GaugeMetricFamily("quartermaster_request_cache_size", "Vectors in the cache.", cache.size)

    def describe(self) -> Iterable[Metric]:
        return ()
