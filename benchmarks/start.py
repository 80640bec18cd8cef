"""Measure the start and the memory of a router: `python -m benchmarks.start SNAPSHOT [--requests FILE]`.

Fresh processes are timed from before the interpreter starts: an empty program, the bare import of the libraries, the
import of the router, and the first answer, in turn; the median of seven. The ratio of the answer to the bare imports
says how the router starts on any machine, in wall time and in the CPU time of all cores.

Memory is read from /proc/PID/smaps_rollup: Rss counts every page that the process has mapped, Pss each page divided by
the processes that share it, private what it alone has. Two replicas that are open at once share what they map, so the
sum of their Pss is less than twice the Rss of one. Linux only.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.support.measuring import about, on_one_thread, report
from benchmarks.support.timed_requests import requests_of, timing_arguments

PROCESSES = 7
REQUESTS = 1_000
_FIRST = "process start to first answer"
_EMPTY = "pass"
_LIBRARIES = "import msgspec, numkong, numpy, onnxruntime, tantivy, tokenizers"
_IMPORT = "from router import Router"
_ANSWER = """
import sys
from router import Router
answer = Router.open(sys.argv[1]).route(sys.argv[2], explain=True)
print(len(answer.tools), flush=True)
"""
_REPLICA = """
import json, sys
from router import Router
requests = json.loads(sys.stdin.readline())
router = Router.open(sys.argv[1])
for line in sys.stdin:
    asked = requests[:1] if line.strip() == "first" else requests
    answers = (router.route(request, explain=True) for request in asked)
    print(sum(bool(tool.record.name) for answer in answers for tool in answer.tools), flush=True)
"""
_SIZES = {"Rss": "rss_mb", "Pss": "pss_mb", "Private_Clean": "private_mb", "Private_Dirty": "private_mb"}


def measure(snapshot: Path, requests: Sequence[str]) -> dict[str, Any]:
    """Milliseconds and megabytes."""
    first = requests[0]
    programs = {
        "an empty program": _EMPTY,
        "import of the libraries": _LIBRARIES,
        "import of the router": _IMPORT,
        _FIRST: _ANSWER,
    }
    for program in programs.values():
        _timed(program, str(snapshot), first)  # the first finds no compiled modules
    turns = [{name: _timed(text, str(snapshot), first) for name, text in programs.items()} for _ in range(PROCESSES)]
    ratios = [
        [answer / bare for answer, bare in zip(turn[_FIRST], turn["import of the libraries"], strict=True)]
        for turn in turns
    ]
    replicas = [_Replica(snapshot, requests)]
    try:
        alone = replicas[0].sizes("first")
        after = replicas[0].sizes("all")
        replicas.append(_Replica(snapshot, requests))
        replicas[1].sizes("first")
        pair = [replica.sizes("all") for replica in replicas]
    finally:
        for replica in replicas:
            replica.end()
    return {
        **{name: _spread([turn[name] for turn in turns]) for name in programs},
        "first answer / import of the libraries": {
            "wall": round(statistics.median(wall for wall, _ in ratios), 2),
            "cpu": round(statistics.median(cpu for _, cpu in ratios), 2),
        },
        "memory after the first answer": alone,
        f"memory after {len(requests)} requests": after,
        "two replicas, first": pair[0],
        "two replicas, both": {name: round(pair[0][name] + pair[1][name], 1) for name in pair[0]},
    }


def _spread(taken: Sequence[tuple[float, float]]) -> dict[str, float]:
    walls, cpus = zip(*taken, strict=True)
    return {
        "median_ms": round(statistics.median(walls), 1),
        "least_ms": round(min(walls), 1),
        "median_cpu_ms": round(statistics.median(cpus), 1),
    }


def _timed(program: str, *arguments: str) -> tuple[float, float]:
    """Return the milliseconds that a new process takes, by the wall clock and of all its cores."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    _run(program, *arguments)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1e3 * wall, 1e3 * cpu


def _run(program: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"a fresh process failed: {done.stderr.strip()[-500:]}")
    return done.stdout


class _Replica:
    """A process that holds a router open and answers when it is told to."""

    def __init__(self, snapshot: Path, requests: Sequence[str]) -> None:
        command = [sys.executable, "-c", _REPLICA, str(snapshot)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._say(json.dumps(requests))

    def sizes(self, which: str) -> dict[str, float]:
        """Megabytes after the "first" request, or after "all" of them."""
        self._say(which)
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a replica ended with exit code {self._process.wait()}")
        found = dict.fromkeys(_SIZES.values(), 0.0)
        for row in Path(f"/proc/{self._process.pid}/smaps_rollup").read_text().splitlines():
            name, _, size = row.partition(":")
            if name in _SIZES:
                found[_SIZES[name]] += int(size.split()[0]) / 1024
        return {name: round(size, 1) for name, size in found.items()}

    def end(self) -> None:
        """End it, and wait until it has."""
        self._process.kill()
        self._process.communicate()

    def _say(self, line: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()


def main() -> None:
    """Measure, print, write."""
    on_one_thread()
    parser = timing_arguments(__doc__, REQUESTS)
    asked = parser.parse_args()
    found = about(asked.snapshot)
    # A start reads compiled modules; also where this process was told to write none.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    requests = requests_of(asked)
    with tempfile.TemporaryDirectory() as compiled:
        os.environ["PYTHONPYCACHEPREFIX"] = compiled
        report("start and size", found, measure(asked.snapshot, requests), asked.json, asked.against)


if __name__ == "__main__":
    main()
