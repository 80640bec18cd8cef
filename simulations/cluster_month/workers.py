"""A Dask cluster of real processes and a Prefect server, for the builds whose workers are lost."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from flows.runtime import configure_prefect, server
from simulations.cluster.faults import Fault, struck
from simulations.cluster.processes import cluster

_STAGE = "project"


@dataclass(frozen=True)
class Workers:
    """Running workers.

    Attributes:
        variables: The environment variables with which a build runs on them.
        faults: The folder in which the workers look for what to do.
    """

    variables: Mapping[str, str]
    faults: Path

    def lose_one(self) -> None:
        """Let the next worker that writes documents die in the middle of it. Dask starts another."""
        Fault(_STAGE, "worker").write(self.faults)

    @property
    def lost(self) -> bool:
        """Whether one has died since."""
        return struck(self.faults) > 0


@contextmanager
def running_workers(folder: Path) -> Iterator[Workers]:
    """Yield two workers of a scheduler, and a Prefect server. Starting them takes half a minute."""
    faults = folder / "faults"
    faults.mkdir(parents=True)
    with patch.dict(os.environ, {"PREFECT_HOME": str(folder / "prefect")}):
        configure_prefect(at_terminal=True)
        with server() as url, cluster(faults) as running:
            variables = {
                "PREFECT_API_URL": url,
                "PREFECT_HOME": str(folder / "prefect"),
                "QUARTERMASTER_FLOW__RUNNER": "dask",
                "QUARTERMASTER_FLOW__DASK_ADDRESS": running.address,
            }
            yield Workers(variables, faults)
