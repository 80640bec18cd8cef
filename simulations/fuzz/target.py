"""A target: what is tried with inputs, which errors it may raise, and what must hold of what it accepts."""

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from router.errors import QuartermasterError
from simulations.fuzz.mutation import Form

_MEMORY = "/dev/shm"
Run = Callable[[bytes], object]


def in_memory() -> str | None:
    """Return a folder in memory; None where the machine has none. Some disks take 3 ms for a file."""
    return _MEMORY if os.access(_MEMORY, os.W_OK) else None


class NoInput(Exception):
    """Raised by a run for bytes that stand for no input of its target."""


def read_object(data: bytes, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the JSON object that describes a target's input; `{"$python": name}` stands for one of `values`.

    Raises NoInput where the bytes are none.
    """

    def with_values(row: dict[str, Any]) -> Any:
        name = row.get("$python")
        return values[name] if values and isinstance(name, str) and name in values else row

    try:
        row = json.loads(data, object_hook=with_values)
    except (ValueError, RecursionError):
        raise NoInput from None
    if not isinstance(row, dict):
        raise NoInput
    return row


class Resources:
    """What runs need of the machine: a scratch folder, a snapshot, servers. All of it ends with `close`."""

    def __init__(self, snapshot: Path | None = None, within: Path | None = None) -> None:
        """Take a built snapshot, or build one when a target first asks for it. The scratch folder lies `within`."""
        self.stack = ExitStack()
        scratch = TemporaryDirectory(prefix="quartermaster-fuzz-", dir=within or in_memory())
        self.scratch = Path(self.stack.enter_context(scratch))
        self._snapshot = snapshot
        self.stack.callback(setattr, tempfile, "tempdir", tempfile.tempdir)
        tempfile.tempdir = str(self.scratch)  # a router links an index's files there

    @cached_property
    def snapshot(self) -> Path:
        """Return a snapshot of forty tools as `tiny_snapshot` builds it."""
        from simulations.fuzz.tiny_snapshot import build_snapshot

        return self._snapshot or build_snapshot(self.scratch / "built")

    def folder(self, name: str) -> Path:
        """Return a new folder whose name begins so."""
        return Path(mkdtemp(prefix=f"{name}-", dir=self.scratch))

    def file(self, name: str) -> Callable[[bytes], Path]:
        """Return a function that writes an input to a file of this name and returns its path."""
        path = self.scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)

        def write(data: bytes) -> Path:
            path.write_bytes(data)
            return path

        return write

    def close(self) -> None:
        """End what was started, and remove the scratch folder."""
        self.stack.close()


@dataclass(frozen=True, slots=True)
class Target:
    """One reader, server or function under test.

    `prepare` returns the function that runs an input; it is called once for many inputs. `errors` are those that an
    input may raise; AssertionError says that a property is broken. `seeds` are inputs to begin with. `cpu_s` bounds the
    CPU seconds of one input, `gate` is the number of inputs in the gate.
    """

    name: str
    form: Form
    seeds: tuple[bytes, ...] | Callable[[Resources], tuple[bytes, ...]]
    prepare: Callable[[Resources], Run]
    errors: tuple[type[Exception], ...] = (QuartermasterError,)
    cpu_s: float = 5.0
    gate: int = 80

    def seed_inputs(self, resources: Resources) -> tuple[bytes, ...]:
        """Return the seeds; some are made of the snapshot."""
        return self.seeds(resources) if callable(self.seeds) else self.seeds
