"""What Prometheus reads of the processes that serve: the state of each, summed up at each scrape."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from quartermaster.serving.http.serving_state import ServingState

_NEVER = float("inf")


class Gauges(Collector):
    """The gauges of one process, or of all workers: of each the value of the worker that is worst off."""

    def __init__(self, states: Callable[[], Sequence[ServingState]]) -> None:
        """Sum up what `states` returns at each scrape. At a start it may be empty."""
        self._states = states

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics as they are now."""
        states = self._states()
        snapshot = InfoMetricFamily("quartermaster_snapshot", "The snapshot that serves; one line for each of several.")
        processes = GaugeMetricFamily(
            "quartermaster_snapshot_workers", "Processes that serve a snapshot.", labels=("snapshot",)
        )
        serving = Counter((state.snapshot, state.catalog) for state in states)
        for (name, catalog), count in sorted(serving.items()):
            snapshot.add_metric([], {"snapshot": name, "catalog": catalog})
            processes.add_metric([name], count)
        yield snapshot
        yield processes
        if states:
            yield from _states(states)

    def describe(self) -> Iterable[Metric]:
        """Return nothing: the names are known at a scrape."""
        return ()


def _states(states: Sequence[ServingState]) -> Iterator[Metric]:
    now, today = time.monotonic(), time.time()
    yield GaugeMetricFamily(
        "quartermaster_tools",
        "Tools that are served; of several workers the least.",
        min(state.tools for state in states),
    )
    yield GaugeMetricFamily(
        "quartermaster_publication_refused",
        "1 while the newest publication is refused, or cannot be read, and the snapshot before it serves.",
        any(state.refusal for state in states),
    )
    yield GaugeMetricFamily(
        "quartermaster_request_cache_size", "Vectors in the cache.", sum(state.cached_requests for state in states)
    )
    built = [state.created for state in states if state.created is not None]
    if built:
        yield GaugeMetricFamily(
            "quartermaster_snapshot_age_seconds",
            "Since the serving snapshot was built; of several the oldest.",
            max(today - min(built), 0.0),
        )
    watching = [state for state in states if state.watched]
    if watching:
        yield GaugeMetricFamily(
            "quartermaster_seconds_since_source_was_read",
            "Since the source of snapshots last said what is newest; +Inf where it has not since the start.",
            max(_since(state.read_at, now) for state in watching),
        )
        yield GaugeMetricFamily(
            "quartermaster_seconds_since_newest_served",
            "Since the newest snapshot was last found to be what serves; +Inf where it was not since the start.",
            max(_since(state.current_at, now) for state in watching),
        )


def _since(moment: float | None, now: float) -> float:
    return _NEVER if moment is None else max(now - moment, 0.0)
