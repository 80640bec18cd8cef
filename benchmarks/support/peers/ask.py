"""Put requests to one selector of tools, in a process of its own: `python -m benchmarks.support.peers.ask < JSON`.

Reads `{"selector", "tools", "requests", "timed", "warm_up", "kept"}`, for this router also `{"snapshot", "recipe"}`,
and with `{"callers": [1, 4], "seconds"}` how many threads ask at once, and for how long.
Writes one line of JSON: `{"missing"}` with the reason, or

- `versions` of its packages,
- `rankings`, ids of at most ten tools by request, best first,
- `wall_ms` and `cpu_ms` of each request of `timed`, encoding included, asked one after the other; CPU is that
  of all threads,
- `build_s` and `build_cpu_s`, from the tools to the first answer, with the time that kept vectors spared,
- `rss_mb`, the largest resident memory of the process while it built and answered those,
- `callers`, by their number the requests a second of all of them, and milliseconds of a request, waiting included.
"""

import itertools
import json
import logging
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.support.peers.definitions import Answer, K
from benchmarks.support.peers.embedder import Embedder
from benchmarks.support.peers.registry import PEERS


def main() -> None:
    """Ask the selector, or say what it lacks. Its errors end the process: the last line of stderr is the reason."""
    asked = json.load(sys.stdin)
    out, sys.stdout = sys.stdout, sys.stderr  # some peers print
    logging.disable(logging.WARNING)
    try:
        row = measured(asked)
    except ImportError as missing:
        row = {"missing": str(missing)}
    print(json.dumps(row), file=out, flush=True)


def measured(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of the selector that is asked for. Raises ImportError for a package that it lacks."""
    versions, embedder = {}, None
    if "snapshot" not in asked:
        peer = PEERS[asked["selector"]]
        versions = peer.versions()
        embedder = Embedder(Path(asked["kept"])) if peer.embeds else None  # loading the encoder is no part of a build
    begun, begun_cpu = time.perf_counter(), time.process_time()
    answer = _ours(asked) if "snapshot" in asked else peer.make(asked["tools"], embedder)
    for request in asked["warm_up"]:
        answer(request)
        if request == asked["warm_up"][0]:
            build_s, build_cpu_s = time.perf_counter() - begun, time.process_time() - begun_cpu
    if embedder is not None:
        build_s, build_cpu_s = build_s + embedder.spared_s, build_cpu_s + embedder.spared_cpu_s
    wall_ms, cpu_ms = timed(answer, asked["timed"])
    largest = resident_mb()
    callers = {
        number: together(answer, asked["timed"], number, asked["seconds"]) for number in asked.get("callers", ())
    }
    if embedder is not None:
        embedder.remember(asked["requests"])
    return {
        "versions": versions,
        "rankings": [list(dict.fromkeys(answer(request)))[:K] for request in asked["requests"]],
        "wall_ms": wall_ms,
        "cpu_ms": cpu_ms,
        "build_s": build_s,
        "build_cpu_s": build_cpu_s,
        "rss_mb": largest,
        "callers": callers,
    }


def timed(answer: Answer, requests: Sequence[str]) -> tuple[list[float], list[float]]:
    """Return wall and CPU milliseconds of each request."""
    wall, cpu = [], []
    for request in requests:
        begun, begun_cpu = time.perf_counter(), time.process_time()
        answer(request)
        cpu.append(1e3 * (time.process_time() - begun_cpu))
        wall.append(1e3 * (time.perf_counter() - begun))
    return wall, cpu


def together(answer: Answer, requests: Sequence[str], callers: int, seconds: float) -> dict[str, Any]:
    """Return `per_s` and `wall_ms` of callers that ask for some seconds, each from another request on."""
    begun = time.perf_counter()

    def ask(caller: int) -> list[float]:
        first, wall = caller * len(requests) // callers, []
        for request in itertools.islice(itertools.cycle(requests), first, None):
            asked = time.perf_counter()
            if asked > begun + seconds:
                break
            answer(request)
            wall.append(1e3 * (time.perf_counter() - asked))
        return wall

    with ThreadPoolExecutor(callers) as threads:
        wall = list(itertools.chain.from_iterable(threads.map(ask, range(callers))))
    return {"per_s": len(wall) / (time.perf_counter() - begun), "wall_ms": wall}


def resident_mb() -> float:
    """Return the largest resident memory of this process so far, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux's getrusage begins with the memory of the process that started this one
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def _ours(asked: Mapping[str, Any]) -> Answer:
    from router import Router  # the peers' environment does not have it

    router = Router.open(asked["snapshot"])
    return lambda request: router.route(request, k=K, recipe=asked["recipe"]).ids


if __name__ == "__main__":
    main()
