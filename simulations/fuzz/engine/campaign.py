"""Workers under a watchdog: slices of time for each target in turn, until the time is up."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from simulations.fuzz.engine.corpus import is_known, keep, pin
from simulations.fuzz.engine.current import read_current
from simulations.fuzz.engine.oracle import WAITS
from simulations.fuzz.engine.tally import Tally
from simulations.fuzz.target import Resources, Target, in_memory

_SLICE_S = (5.0, 20.0)  # the shortest and longest time of one worker
_START_S = 120.0  # imports, a server's start
_GRACE_S = 10.0  # beyond a target's own bound, which cannot interrupt C code


@dataclass(frozen=True, slots=True)
class Campaign:
    """A run over targets. `engine` is "mutation" or "atheris"."""

    targets: Sequence[Target]
    minutes: float
    seed: int
    workers: int = 1
    engine: str = "mutation"

    def run(self) -> dict[str, Tally]:
        """Return the counts by target, when the time is up."""
        tallies = {target.name: Tally(target.name) for target in self.targets}
        resources = Resources()
        with (
            TemporaryDirectory(prefix="quartermaster-fuzz-", dir=in_memory()) as folder,
            ThreadPoolExecutor(self.workers) as pool,
        ):
            until = time.monotonic() + 60 * self.minutes
            slices = self._slices(until, Path(folder))
            try:
                snapshot = resources.snapshot
                for tally in pool.map(lambda part: part.run(snapshot), slices):
                    tallies[tally.target].add(tally)
            finally:
                resources.close()
        return tallies

    def _slices(self, until: float, folder: Path) -> Iterator["_Slice"]:
        """Yield each target's next slice until the time is up, each target at least once."""
        share = 60 * self.minutes * self.workers / len(self.targets)
        seconds = min(max(share, _SLICE_S[0]), _SLICE_S[1])
        rounds = max(1, round(share / seconds))
        for number in range(rounds):
            for target in self.targets:
                place = folder / f"{number}-{target.name}"
                place.mkdir()
                yield _Slice(target, seconds, f"{self.seed}.{number}", place, self.engine)


@dataclass(frozen=True, slots=True)
class _Slice:
    target: Target
    seconds: float
    seed: str
    place: Path
    engine: str

    def run(self, snapshot: Path) -> Tally:
        """Run one worker to its end, and say what ended it where that was no end of its own."""
        module = self.target.prepare.__module__
        what = ("--module", module, "--target", self.target.name, "--engine", self.engine)
        bounds = ("--seconds", f"{self.seconds}", "--seed", self.seed)
        places = ("--place", str(self.place), "--snapshot", str(snapshot))
        command = [sys.executable, "-m", "simulations.fuzz.engine.worker", *what, *bounds, *places]
        environment = {**os.environ, "RUST_BACKTRACE": "0"}  # a panic in Rust writes kilobytes otherwise
        with (self.place / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
            hangs = self._watch(process)
            process.wait()
        tally = self._tally()
        for path in sorted(self.place.glob("found/*"), key=lambda found: found.stat().st_size):
            keep(self.target.name, path.read_bytes())  # the next worker removes those that reach no new line
        if hangs or process.returncode:
            self._note_end(tally, "Hang" if hangs else f"Exit {process.returncode}")
        return tally

    def _watch(self, process: "subprocess.Popen[bytes]") -> bool:
        """Wait for a worker. Kill it where one input takes too long, and return True."""
        count, since = 0, time.monotonic()
        while process.poll() is None:
            time.sleep(0.2)
            now, _ = read_current(self.place / "current")
            if now != count:
                count, since = now, time.monotonic()
            bound = self.target.cpu_s * WAITS + _GRACE_S if count else _START_S
            if time.monotonic() - since > bound:
                process.kill()
                return True
        return False

    def _tally(self) -> Tally:
        try:
            return Tally(**json.loads((self.place / "tally.json").read_text(encoding="utf-8")))
        except FileNotFoundError:
            return Tally(self.target.name)

    def _note_end(self, tally: Tally, what: str) -> None:
        """Count a worker that crashed or hung in C code, and pin what it ran."""
        count, data = read_current(self.place / "current")
        log = (self.place / "log").read_text(encoding="utf-8", errors="replace")
        signature = f"{what} at {'the start' if not count else 'C code'}"
        tally.findings[signature] = tally.findings.get(signature, 0) + 1
        if not is_known(self.target.name, signature):
            pin(self.target.name, signature, data)
            print(f"{self.target.name}: {signature}\n{log[-2_000:]}", file=sys.stderr)
