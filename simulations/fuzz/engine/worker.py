"""A process that runs one target for some seconds: `python -m simulations.fuzz.engine.worker`. `campaign` starts it."""

import argparse
import json
import logging
import resource
import time
import warnings
from functools import partial
from importlib import import_module
from pathlib import Path
from random import Random

from simulations.fuzz.engine.corpus import is_known, keep, pin, read_corpus
from simulations.fuzz.engine.current import CurrentInput
from simulations.fuzz.engine.lines import Lines
from simulations.fuzz.engine.minimise import minimise
from simulations.fuzz.engine.oracle import Outcome, judge
from simulations.fuzz.engine.tally import Tally
from simulations.fuzz.mutation import Mutator
from simulations.fuzz.target import Resources, Target

_TRACE_EVERY = 8  # inputs: a traced one takes two to five times as long
_MOST_IN_POOL = 2_000
_MEMORY = 4 << 30  # bytes beyond the start's: what takes more ends in a MemoryError, which no target may raise


class Worker:
    """Runs one target; writes its counts to `tally.json` each second, and what it runs to `current`."""

    def __init__(self, target: Target, resources: Resources, place: Path, seed: str) -> None:
        self.target = target
        self.random = Random(f"{target.name} {seed}")
        self.tally = Tally(target.name)
        self.lines = Lines()
        self.run = target.prepare(resources)
        self.pool = list(target.seed_inputs(resources))
        self._place = place
        self._current = CurrentInput(place / "current")
        self._written = 0.0
        self._base_mb = _peak_mb()

    def load(self, corpus: dict[Path, bytes]) -> None:
        """Try the seeds and a corpus; remove the corpus's files that reach no new line."""
        for data in self.pool:
            self.lines.watch(partial(self.try_input, data))
        for path, data in corpus.items():
            if self.lines.watch(partial(self.try_input, data)):
                self.pool.append(data)
            else:
                path.unlink()

    def mutate(self, seconds: float) -> None:
        """Try mutated inputs for some seconds; keep those that reach new lines."""
        mutator = Mutator(self.target.form, self.random)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            data = mutator.mutate(self.pool)
            if self.tally.inputs % _TRACE_EVERY:
                self.try_input(data)
            elif self.lines.watch(partial(self.try_input, data)) and len(self.pool) < _MOST_IN_POOL:
                self.pool.append(data)
                keep(self.target.name, data)
        self.write()

    def try_input(self, data: bytes) -> None:
        """Run one input, count what came of it, and pin the first of each new failure, minimised."""
        self._current.note(data)
        outcome = judge(self.target, self.run, data)
        self._count(outcome)
        finding = outcome.finding
        is_first = finding is not None and self.tally.findings[finding.signature] == 1
        if finding and is_first and not is_known(self.target.name, finding.signature):
            pin(self.target.name, finding.signature, self._minimised(data, finding.signature))
        if time.monotonic() - self._written > 1:
            self.write()

    def write(self) -> None:
        """Write the counts so far."""
        self.tally.peak_mb = round(_peak_mb() - self._base_mb, 1)
        self.tally.lines = self.lines.count
        part = self._place / "tally.part"
        part.write_text(json.dumps(self.tally.to_json()), encoding="utf-8")
        part.replace(self._place / "tally.json")
        self._written = time.monotonic()

    def _count(self, outcome: Outcome) -> None:
        tally = self.tally
        tally.inputs += 1
        tally.accepted += outcome.accepted
        tally.seconds += outcome.seconds
        tally.slowest_s = max(tally.slowest_s, outcome.seconds)
        if outcome.finding:
            signature = outcome.finding.signature
            tally.findings[signature] = tally.findings.get(signature, 0) + 1

    def _minimised(self, data: bytes, signature: str) -> bytes:
        def fails(candidate: bytes) -> bool:
            self._current.note(candidate)
            finding = judge(self.target, self.run, candidate).finding
            return finding is not None and finding.signature == signature

        return minimise(data, fails) if fails(data) else data


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _bound_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    bound = pages * resource.getpagesize() + _MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))


def main() -> None:
    """Run a target as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", required=True, help="The module of the target.")
    parser.add_argument("--target", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--place", type=Path, required=True, help="The folder of the counts and the current input.")
    parser.add_argument("--snapshot", type=Path, help="The tiny snapshot, where it is built already.")
    parser.add_argument("--engine", choices=("mutation", "atheris"), default="mutation")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if options.engine == "atheris":
        from simulations.fuzz.engine import atheris_engine

        atheris_engine.instrument()  # before anything of ours is imported
    # That module alone: a worker for documents starts in a second, one with all servers in five.
    targets: tuple[Target, ...] = import_module(options.module).TARGETS
    resources = Resources(options.snapshot, options.place)
    try:
        (target,) = (target for target in targets if target.name == options.target)
        worker = Worker(target, resources, options.place, options.seed)
        _bound_memory()
        warnings.simplefilter("error")  # what a warning quotes is not ours to print
        worker.load(read_corpus(options.target))
        if options.engine == "atheris":
            atheris_engine.fuzz(worker, options.seconds, options.place / "found")
        else:
            worker.mutate(options.seconds)
    finally:
        resources.close()


if __name__ == "__main__":
    main()
