"""An operator's decisions about the catalog in the bucket, each made in a process on a host of its own."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from simulations.cluster_month import processes

Decision = Literal["rollback", "pin", "unpin"]
_ANSWER_S = 60


def decide(decision: Decision, url: str, cache: Path, variables: Mapping[str, str]) -> str:
    """Decide, and return why that failed; empty where it did not. `cache` is a folder of the operator's host."""
    ours, theirs = processes.pipe()
    process = processes.start(_decide, decision, url, cache, dict(variables), theirs)
    theirs.close()
    try:
        problem: str = ours.recv() if ours.poll(_ANSWER_S) else "no answer"
    except EOFError:
        problem = "it died"
    process.kill()
    process.join()
    return problem


def _decide(decision: Decision, url: str, cache: Path, variables: Mapping[str, str], pipe: Any) -> None:
    processes.settle(Path("/"), variables)
    from pipeline.store import decisions
    from pipeline.store.bucket.store import BucketStore

    store = BucketStore(url, cache)
    try:
        if decision == "rollback":
            decisions.rollback(store)
        elif decision == "pin":
            decisions.pin(store, None)
        else:
            decisions.unpin(store)
    except Exception as error:  # noqa: BLE001 - told to the simulation, which judges it
        pipe.send(f"{type(error).__name__}: {error}")
    else:
        pipe.send("")
