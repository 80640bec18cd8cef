"""Prometheus metrics of requests, answers and stages. No label holds text of a request."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from quartermaster.serving.http.gauges import Gauges
from quartermaster.serving.http.serving_state import state_of
from router.answer.results import RoutedTools
from router.router import Router

# Histogram buckets, from a lexical answer over a small catalog to several steps over a million tools.
_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
_METHODS = frozenset(("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"))


class Metrics:
    """The metrics of one app, in a registry of their own. The counts of several workers are added by `together`."""

    def __init__(self, router: Router, together: Callable[[], bytes] | None = None) -> None:
        """Make the metrics of a router that serves.

        `together` returns the metrics of all workers, this one among them, in Prometheus' text format: what this object
        counts then goes to files that all of them share.
        """
        self._router = router
        self._together = together
        self._registry = registry = None if together else CollectorRegistry()
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
        self._reloads = Counter(
            f"{prefix}_reloads", "Changes of the serving snapshot that were seen.", registry=registry
        )
        self._hits = Counter(f"{prefix}_request_cache_hits", "Vectors found in the cache.", registry=registry)
        self._misses = Counter(f"{prefix}_request_cache_misses", "Vectors computed.", registry=registry)
        self._seen = (router.manifest.snapshot, 0, 0)
        if registry is not None:
            registry.register(Gauges(lambda: [state_of(router, "")]))

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

    def look(self) -> None:
        """Count what the router itself has counted since the last look: changes of the snapshot, use of its cache.

        A scrape looks, and each worker once a second. Call it from the event loop's thread.
        """
        snapshot, hits, misses = self._seen
        cache = self._router.cache
        self._seen = (self._router.manifest.snapshot, cache.hits, cache.misses)
        if self._seen[0] != snapshot:
            self._reloads.inc()
        # Another encoder comes with a new cache, which counts from 0.
        self._hits.inc(cache.hits - hits if cache.hits >= hits else cache.hits)
        self._misses.inc(cache.misses - misses if cache.misses >= misses else cache.misses)

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        self.look()
        if self._together is not None:
            return self._together()
        assert self._registry is not None
        return generate_latest(self._registry)
