"""A fault in a stage: its process, the scheduler or the driver is killed in the middle of a batch.

Each `dask worker` of the kill matrix preloads this module, which wraps the stage functions. What to kill, where and how
often stands in a file that the matrix writes; each kill leaves a mark, so that it happens no more often.
"""

import json
import os
import signal
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

# The stages whose batches leave the driver, with their functions.
STAGES = {
    "project": ("pipeline.build.expanding", "project_documents"),
    "embed": ("pipeline.vectors.embedding", "embed_texts"),
}
FOLDER = "QUARTERMASTER_TEST_FAULTS"


@dataclass(frozen=True)
class Fault:
    """`victim` is "worker", or the number of another process. Of the stage, `spared` batches are left alone first."""

    stage: str
    victim: str
    times: int = 1
    spared: int = 0

    def write(self, folder: Path) -> None:
        for mark in folder.iterdir():
            mark.unlink()
        (folder / "fault.json").write_text(json.dumps(asdict(self)), encoding="utf-8")

    def strike(self, folder: Path) -> None:
        """Kill, unless this batch is spared or the fault has struck often enough."""
        if not _mark(folder, "spared", self.spared) and _mark(folder, "struck", self.times):
            os.kill(os.getpid() if self.victim == "worker" else int(self.victim), signal.SIGKILL)


def struck(folder: Path) -> int:
    """How often the fault has struck."""
    return len(list(folder.glob("struck-*")))


def _mark(folder: Path, name: str, most: int) -> bool:
    """Leave one more mark; false where there are as many as there may be."""
    for number in range(most):
        try:
            (folder / f"{name}-{number}").open("x").close()
        except FileExistsError:
            continue
        return True
    return False


def dask_setup(worker: Any) -> None:
    """Wrap the stage functions: Dask calls this in each worker process before its first task."""
    folder = Path(os.environ[FOLDER])
    for stage, (module, name) in STAGES.items():
        setattr(import_module(module), name, _faulty(stage, getattr(import_module(module), name), folder))


def _faulty(stage: str, function: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    @wraps(function)
    def call(*arguments: Any) -> Any:
        if (file := folder / "fault.json").exists():
            fault = Fault(**json.loads(file.read_text(encoding="utf-8")))
            if fault.stage == stage:
                fault.strike(folder)
        return function(*arguments)

    return call
