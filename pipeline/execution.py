"""How a build's stages are carried out: called one after the other, each as a task of a flow, or on workers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar, TypeVarTuple

T = TypeVar("T")
Batch = TypeVar("Batch")
Arguments = TypeVarTuple("Arguments")


@dataclass(frozen=True, slots=True)
class SharedStorage:
    """Folders that this process and every worker see under the same path.

    `of_build` is removed when the build ends. `lasting` stays; None where the workers are on this machine, and see
    everything that this process sees.
    """

    of_build: Path
    lasting: Path | None = None


class Execution(Protocol):
    """Carries out the stages of a build.

    Attributes:
        batch_size: How many tools one enrichment stage holds; None for all.
        threads: How many threads the function of a mapped stage may use; None for one a core.
        storage: What workers read and write files in; None where all stages run in this process.
    """

    batch_size: int | None
    threads: int | None
    storage: SharedStorage | None

    def run(self, stage_name: str, function: Callable[[*Arguments], T], *arguments: *Arguments, label: str = "") -> T:
        """Return what `function` returns for `arguments`, or raise what it raises: in this process.

        `label` distinguishes stages of one name.
        """
        ...

    def map(
        self,
        stage_name: str,
        function: Callable[[Batch, *Arguments], T],
        batches: Iterable[tuple[str, Batch]],
        *shared: *Arguments,
    ) -> Iterator[tuple[Batch, T]]:
        """Yield each batch with what `function` returns for it and `shared`, in the order in which they end.

        It may run in other processes: `function` is a module's own, of picklable data, and returns such.

        Batches come with a label, as from `parts`, and are taken as they are needed. `shared` goes to a worker once,
        not with each batch. After an error no other batch begins; what has ended by then is yielded first.
        """
        ...


class DirectExecution:
    """Calls each stage in this process."""

    batch_size: int | None = None
    threads: int | None = None
    storage: SharedStorage | None = None

    def run(self, stage_name: str, function: Callable[[*Arguments], T], *arguments: *Arguments, label: str = "") -> T:
        """Return what `function` returns for `arguments`."""
        return function(*arguments)

    def map(
        self,
        stage_name: str,
        function: Callable[[Batch, *Arguments], T],
        batches: Iterable[tuple[str, Batch]],
        *shared: *Arguments,
    ) -> Iterator[tuple[Batch, T]]:
        """Yield each batch with what `function` returns for it and `shared`, in their order."""
        for _, batch in batches:
            yield batch, function(batch, *shared)


def parts(items: Sequence[T], size: int | None) -> Iterator[tuple[str, Sequence[T]]]:
    """Yield parts of at most `size` items (None for all in one), each with a label: "257–512 of 1,000"."""
    size = size or max(len(items), 1)
    for first in range(0, len(items), size):
        part = items[first : first + size]
        yield f"{first + 1:,}–{first + len(part):,} of {len(items):,}", part
