"""A router in a process of its own that follows the bucket, and tells what it serves when it is asked."""

import logging
import resource
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simulations.cluster_month import processes

WATCH_S = 0.2
_ANSWER_S = 30
_SAMPLE_S = 0.02


@dataclass(frozen=True)
class Status:
    """What a router serves.

    Attributes:
        snapshot: The snapshot's name.
        content_hash: Its content hash.
        served: The names of the snapshots that it served since it started, in order.
        answered_from: The snapshot that it says an answer is from.
        descriptions: The descriptions in that answer, by tool id.
        problem: Why the snapshot's folder is not whole; empty where every file is what the manifest says.
        refusal: Why the newest publication does not serve, as the router says it; empty where it serves.
        warnings: What the router has warned of since it was last asked.
    """

    snapshot: str
    content_hash: str
    served: tuple[str, ...]
    answered_from: str
    descriptions: Mapping[str, str]
    problem: str
    refusal: str
    warnings: tuple[str, ...]

    def with_warnings(self, warnings: tuple[str, ...]) -> "Status":
        """Return it with other warnings."""
        return replace(self, warnings=warnings)


class Replica:
    """A router's process. `number` names it, `cache` is its cache folder, which others may share."""

    def __init__(self, number: int, url: str, cache: Path, variables: Mapping[str, str]) -> None:
        self.number = number
        self.cache = cache
        self._arguments = (url, cache, dict(variables))
        self._process: Any = None
        self.failure = ""

    def __str__(self) -> str:
        return f"router {self.number}"

    @property
    def running(self) -> bool:
        """Whether it has been started and not stopped."""
        return self._process is not None

    def start(self) -> None:
        """Start it; `ready` tells whether it opened."""
        self._pipe, theirs = processes.pipe()
        self._process = processes.start(_serve, *self._arguments, theirs)
        theirs.close()

    def ready(self) -> bool:
        """Wait until it serves, or has failed to: `failure` then says why, and it is no longer running."""
        try:
            self.failure = self._pipe.recv() if self._pipe.poll(_ANSWER_S) else f"it did not open in {_ANSWER_S} s"
        except EOFError:
            self.failure = "it died while it opened"
        if self.failure:
            self.stop()
        return not self.failure

    def ask(self) -> Status:
        """Return what it serves. Raises EOFError where it has died."""
        self._pipe.send("status")
        if not self._pipe.poll(_ANSWER_S):
            raise EOFError(f"{self} does not answer")
        status: Status = self._pipe.recv()
        return status

    def limit_files(self, most_bytes: int) -> None:
        """Bound every file that it writes, as a full disk does; -1 for no bound."""
        self._pipe.send(most_bytes)

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
            self._pipe.close()


class _Warnings(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(record.getMessage())

    def taken(self) -> tuple[str, ...]:
        told, self.told = self.told, []
        return tuple(told)


def _serve(url: str, cache: Path, variables: Mapping[str, str], pipe: Any) -> None:
    """Open a router and answer what comes through the pipe, until it is closed."""
    processes.settle(Path("/"), variables)
    warnings = _Warnings()
    logging.getLogger("router").addHandler(warnings)
    from router import Router
    from tests.support.publishing import live

    try:
        router = Router.open(url, watch=WATCH_S, cache_dir=cache)
    except Exception as error:  # noqa: BLE001 - told to the simulation, which judges it
        pipe.send(f"{type(error).__name__}: {error}")
        return
    pipe.send("")
    served: list[str] = []
    with suppress(EOFError):
        while True:
            snapshot = live(router).snapshot.manifest.snapshot
            if not served or served[-1] != snapshot:
                served.append(snapshot)
            if not pipe.poll(_SAMPLE_S):
                continue
            asked = pipe.recv()
            if asked == "status":
                pipe.send(_status(router, tuple(served), warnings.taken()))
            else:
                resource.setrlimit(resource.RLIMIT_FSIZE, (asked, resource.RLIM_INFINITY))


def _status(router: Any, served: tuple[str, ...], warnings: tuple[str, ...]) -> Status:
    from pipeline.store.deltas.databases import open_whole
    from tests.support.publishing import live

    snapshot = live(router).snapshot
    routed = router.route("cancel an invoice for a customer", k=10)
    descriptions = {result.record.tool_id: result.record.description for result in routed}
    problem = ""
    assert snapshot.folder is not None
    try:
        if snapshot.folder.exists():  # else it was removed, and lives on in this process's memory
            open_whole(snapshot.folder)
    except Exception as error:  # noqa: BLE001 - told to the simulation, which judges it
        problem = f"{type(error).__name__}: {error}"
    manifest = snapshot.manifest
    return Status(
        manifest.snapshot,
        manifest.content_hash,
        served,
        routed.snapshot,
        descriptions,
        problem,
        router.refusal,
        warnings,
    )
