"""Measure `serve http` by workers: `python -m benchmarks.throughput_workers SNAPSHOT… [--workers 1 2 3 4]`.

Over HTTP on loopback, five tools a request, its vectors not cached. This process asks, and takes CPU time from the same
cores: so `by core` is answers divided by the CPU seconds of the server's processes (/proc/PID/stat), which neither this
process nor other load changes much, and `requests/s` is what all of them reach together on this machine.

Latency is that of requests at drawn moments, at 50 and 80 % of the requests/s that were just reached, from the moment
to the answer's last byte: waiting counts. Memory is that of the processes after all this (/proc/PID/smaps_rollup):
`own` is what one more worker takes, Pss what all take together, with the supervisor and the page cache. Linux only.
"""

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.support.load import as_fast_as_answered, at_a_rate, prepared
from benchmarks.support.measuring import RESULTS, about, arguments, on_one_thread, percentiles, report
from benchmarks.support.processes import cpu_seconds, held
from benchmarks.support.timed_requests import own_requests
from router.snapshot.snapshot import Snapshot
from simulations.soak.deployment import Server, serving

_CONNECTIONS = 2  # for each worker: one is answered while the other's answer is read
_SHARES = (0.5, 0.8)


def measure(snapshot: Path, requests: Sequence[bytes], workers: int, seconds: float, rounds: int) -> dict[str, Any]:
    """Return the figures of a server with some workers. Raises RuntimeError where not all of them start."""
    with serving(str(snapshot), "--watch", "0", "--workers", str(workers)) as server:
        answering = _answering(server, workers)
        as_fast_as_answered(server.port, requests, _CONNECTIONS * workers, seconds / 2)
        taken = [_saturated(server, requests, workers, seconds) for _ in range(rounds)]
        figures: dict[str, Any] = {
            "at most": {name: round(statistics.median(row[name] for row in taken), 2) for name in taken[0]}
        }
        for share in _SHARES:
            rate = share * figures["at most"]["requests/s"]
            found = percentiles(at_a_rate(server.port, requests, rate, seconds))
            figures[f"at {share:.0%}"] = {name: round(value, 2) for name, value in found.items()}
        figures["MB"] = _sizes(server, answering)
    return figures


def _sizes(server: Server, answering: Sequence[int]) -> dict[str, float]:
    workers, everybody = (
        [size for pid in pids if (size := held(pid)) is not None] for pids in (answering, server.family())
    )
    return {
        "own": round(statistics.mean(size.own for size in workers), 1),
        "Rss": round(statistics.mean(size.rss for size in workers), 1),
        "Pss of all": round(sum(size.pss for size in everybody), 1),
    }


def _saturated(server: Server, requests: Sequence[bytes], workers: int, seconds: float) -> dict[str, float]:
    pids = server.family()
    begun, cpu, own = time.perf_counter(), cpu_seconds(pids), time.process_time()
    answered = as_fast_as_answered(server.port, requests, _CONNECTIONS * workers, seconds)
    took, cpu, own = time.perf_counter() - begun, cpu_seconds(pids) - cpu, time.process_time() - own
    return {
        "requests/s": answered / took,
        "by core": answered / cpu,
        "CPU ms": 1e3 * cpu / answered,
        "CPU ms to ask": 1e3 * own / answered,
        "cores": cpu / took,
    }


def _answering(server: Server, workers: int, seconds: float = 120.0) -> list[int]:
    """Return the processes that answer, once all of them do."""
    if workers == 1:
        return [server.process.pid]
    end = time.monotonic() + seconds
    while server.serving() < workers:
        if time.monotonic() > end:
            raise RuntimeError(f"{server.serving()} of {workers} workers answer after {seconds:g} s")
        time.sleep(0.2)
    return server.workers()


def main() -> None:
    """Measure, print, write."""
    on_one_thread()
    parser = arguments(__doc__, RESULTS / "throughput_workers.json")
    parser.add_argument("snapshot", type=Path, nargs="+")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--most", type=int, default=500, help="requests to ask, over and over")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="of the requests a second")
    parser.add_argument("--against", type=Path, metavar="STORED", help="a stored run, to print ratios to")
    asked = parser.parse_args()
    found = about(asked.snapshot[0])
    figures: dict[str, Any] = {}
    for path in asked.snapshot:
        snapshot = Snapshot.open(path)
        requests = prepared(own_requests(snapshot, asked.most))
        for workers in asked.workers:
            taken = measure(path, requests, workers, asked.seconds, asked.rounds)
            figures[f"{len(snapshot.records):,} tools, {workers} workers"] = taken
    report("requests a second by workers", found, figures, asked.json, asked.against)


if __name__ == "__main__":
    main()
