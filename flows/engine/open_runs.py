"""The flow runs of a workspace that have not ended: a file for each, locked by the process that runs it.

A process that is killed leaves its file, and its lock is free. That is true on every host that shares the workspace,
while a process's number may be taken again, and means nothing on another host.
"""

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from prefect.client.schemas.objects import State, StateType

_FOLDER = "flow_runs"


class OpenRun:
    """The file of one flow run, and its lock.

    Attributes:
        run_id: The flow run's id on the Prefect server.
        attempt: How often the server had started the run: a run that is started again is another attempt.
        process: The process that runs it, in words.
        final: The state that the run ended in; None while it has not ended.
    """

    def __init__(self, path: Path, stream: IO[str], content: dict[str, Any]) -> None:
        """Internal: use `begin` or `abandoned_runs`."""
        self.run_id = UUID(content["run"])
        self.attempt = int(content["attempt"])
        self.process = str(content["process"])
        self.final: State[Any] | None = _state(content["final"]) if content.get("final") else None
        self._path = path
        self._stream = stream

    @classmethod
    def begin(cls, workspace: Path, run_id: UUID, attempt: int) -> "OpenRun":
        """Create and lock the file of a run of this process. Raises OSError where it cannot be written."""
        path = workspace / _FOLDER / f"{run_id}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        # Under another name until it is locked, so that nobody finds it without a lock.
        hidden = path.with_suffix(f".{os.getpid()}")
        stream = hidden.open("w+", encoding="utf-8")
        fcntl.flock(stream, fcntl.LOCK_EX)
        process = f"process {os.getpid()} on {socket.gethostname()}"
        run = cls(path, stream, {"run": str(run_id), "attempt": attempt, "process": process})
        run._write()
        hidden.rename(path)
        return run

    @property
    def age_s(self) -> float:
        """Return the seconds since the file was written."""
        return time.time() - os.fstat(self._stream.fileno()).st_mtime

    def end(self, state: State[Any]) -> None:
        """Keep the state that the run ended in, for the case that the server cannot be told."""
        self.final = state
        with suppress(OSError):  # a full disk: the server is told all the same
            self._write()

    def forget(self) -> None:
        """Delete the file: the server knows how the run ended."""
        with suppress(OSError):
            self._path.unlink()
        self._stream.close()

    def release(self) -> None:
        """Unlock the file and leave it, for a later look."""
        self._stream.close()

    def _write(self) -> None:
        final = self.final
        content = {
            "run": str(self.run_id),
            "attempt": self.attempt,
            "process": self.process,
            "final": {"type": final.type.value, "name": final.name, "message": final.message} if final else None,
        }
        self._stream.seek(0)
        self._stream.write(json.dumps(content) + "\n")
        self._stream.truncate()
        self._stream.flush()


def abandoned_runs(workspace: Path) -> Iterator[OpenRun]:
    """Yield the runs whose process is gone, each locked while it is looked at."""
    for path in sorted((workspace / _FOLDER).glob("*.json")):
        try:
            stream = path.open("r+", encoding="utf-8")
        except OSError:  # forgotten by its process in this moment
            continue
        run = _if_abandoned(path, stream)
        if run is None:
            stream.close()
        else:
            yield run


def _if_abandoned(path: Path, stream: IO[str]) -> OpenRun | None:
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        content = json.load(stream)
        return OpenRun(path, stream, content)
    except BlockingIOError:
        return None
    except (OSError, ValueError, KeyError, TypeError):  # cut off by a full disk: nothing is known of its run
        path.unlink(missing_ok=True)
        return None


def _state(raw: dict[str, Any]) -> State[Any]:
    return State(type=StateType(raw["type"]), name=raw["name"], message=raw["message"])
