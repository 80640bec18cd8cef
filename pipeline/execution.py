"""How a build's stages are carried out: called one after the other, each as a task of a flow, or in other processes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar, TypeVarTuple

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

# Stages that hold the ledger, the store, progress, a network connection or a budget: they run in the build's own
# process. Every other stage is a module-level function of picklable data that returns picklable data.
# See docs/decisions/0024-stages-of-plain-data.md.
DRIVER_STAGES = frozenset({"read", "resolve", "export", "enrich", "contrast", "inspect", "learn", "verify", "publish"})


class Execution(Protocol):
    """Carries out the stages of a build. `batch_size` is how many tools one enrichment stage holds; None for all."""

    batch_size: int | None

    def run(self, stage_name: str, function: Callable[[*Arguments], T], *arguments: *Arguments, label: str = "") -> T:
        """Return what `function` returns for `arguments`, or raise what it raises.

        `label` tells stages of one name apart. A stage outside `DRIVER_STAGES` may run in another process.
        """
        ...


class DirectExecution:
    """Calls each stage in this process."""

    batch_size: int | None = None

    def run(self, stage_name: str, function: Callable[[*Arguments], T], *arguments: *Arguments, label: str = "") -> T:
        """Return what `function` returns for `arguments`."""
        return function(*arguments)


def parts(items: Sequence[T], size: int | None) -> Iterator[tuple[str, Sequence[T]]]:
    """Yield parts of at most `size` items (None for all in one), each with a label: "257–512 of 1,000"."""
    size = size or max(len(items), 1)
    for first in range(0, len(items), size):
        part = items[first : first + size]
        yield f"{first + 1:,}–{first + len(part):,} of {len(items):,}", part
