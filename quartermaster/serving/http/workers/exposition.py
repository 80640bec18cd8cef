"""One Prometheus view of all workers, whichever of them is asked.

Counts are prometheus_client's files of its multiprocess mode, with the number of a worker's place in the name of each
instead of its process id: a worker goes on with the counts of the one whose place it takes. So nothing that a killed
worker counted is lost, and there are no more files after a thousand restarts than after one.
"""

import os
import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest, values
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from quartermaster.serving.http.gauges import Gauges
from quartermaster.serving.http.serving_state import ServingState
from quartermaster.serving.http.workers.allocation import allocate
from quartermaster.serving.http.workers.run_folder import Fleet, RunFolder
from router.errors import SettingsInvalid

_COUNTS_BYTES = 262_144  # some 1,500 counts; prometheus_client would begin with a quarter, and no blocks


def count_in(folder: Path, place: int) -> None:
    """Let the counters that this process makes from now on count in files of a folder, as the worker of a place.

    Raises SettingsInvalid where the disk has no room for the files.
    """
    for kind in ("counter", "histogram"):
        try:
            descriptor = os.open(folder / f"{kind}_{place}.db", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                if os.fstat(descriptor).st_size == 0:
                    allocate(descriptor, _COUNTS_BYTES)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise SettingsInvalid(
                f"{folder} has no room for what the workers count: free {_COUNTS_BYTES:,} bytes, or set TMPDIR to "
                f"another folder: {error.strerror}"
            ) from error
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)  # where each value looks for it
    values.ValueClass = values.MultiProcessValue(lambda: place)  # type: ignore[no-untyped-call]


class FleetExposition:
    """Returns the metrics of all workers in Prometheus' text format."""

    def __init__(self, run: RunFolder, place: int, own: Callable[[], ServingState]) -> None:
        """Sum up what the workers of a server share. `own` is the state of this one, the worker of a place."""
        self._run, self._place, self._own = run, place, own

    def __call__(self) -> bytes:
        """Return the metrics as they are now; the states of other workers are at most some seconds old."""
        try:
            return self._written()
        except struct.error:  # a worker that starts has made a file, and not written its first bytes
            return self._written()

    def _written(self) -> bytes:
        fleet = self._run.fleet()
        states = {**fleet.states, self._place: self._own()}
        registry = CollectorRegistry()
        MultiProcessCollector(registry, path=str(self._run.metrics))  # type: ignore[no-untyped-call]
        registry.register(Gauges(lambda: list(states.values())))
        registry.register(_Workers(fleet, len(states)))
        return generate_latest(registry)


class _Workers(Collector):
    def __init__(self, fleet: Fleet, serving: int) -> None:
        self._fleet, self._serving = fleet, serving

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("quartermaster_workers_wanted", "Workers that there should be.", self._fleet.wanted)
        yield GaugeMetricFamily("quartermaster_workers", "Workers that take requests.", self._serving)
        restarts = CounterMetricFamily(
            "quartermaster_worker_restarts", "Workers that were replaced, by cause.", labels=("cause",)
        )
        for cause, count in self._fleet.restarts.items():
            restarts.add_metric([cause], count)
        yield restarts

    def describe(self) -> Iterable[Metric]:
        return ()
