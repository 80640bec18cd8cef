"""Atheris (libFuzzer) as the engine: it chooses inputs by the branches that they reach. It is installed by hand."""

import sys
from contextlib import ExitStack
from pathlib import Path
from random import Random

from simulations.fuzz.engine.worker import Worker
from simulations.fuzz.mutation import Mutator
from simulations.fuzz.mutation.mutator import MAX_INPUT

_ROOMS = ["router", "pipeline"]
_instrumented = ExitStack()  # never closed: modules are imported until the end


def instrument() -> None:
    """Instrument every module of ours that is imported from now on."""
    import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]

    _instrumented.enter_context(atheris.instrument_imports(include=_ROOMS))


def fuzz(worker: Worker, seconds: float, found: Path) -> None:
    """Run a worker's target for some seconds. libFuzzer ends the process; inputs with new branches lie in `found`."""
    import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]

    found.mkdir(exist_ok=True)
    for number, data in enumerate(worker.pool):
        (found / f"seed-{number}").write_bytes(data)

    def mutated(data: bytes, max_size: int, seed: int) -> bytes:
        random = Random(seed)
        return Mutator(worker.target.form, random).mutate([data, random.choice(worker.pool)])[:max_size]

    options = [f"-max_total_time={max(1, round(seconds))}", f"-max_len={MAX_INPUT}", "-timeout=0", "-rss_limit_mb=0"]
    atheris.Setup([sys.argv[0], *options, "-verbosity=0", str(found)], worker.try_input, custom_mutator=mutated)
    atheris.Fuzz()
