"""How a build's stages are carried out: called one after the other, or each as a task of a flow."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Execution(Protocol):
    """Carries out the stages of a build. `batch_size` is how many tools one enrichment stage holds; None for all."""

    batch_size: int | None

    def __call__(self, verb: str, work: Callable[[], T], label: str = "") -> T:
        """Do the work of a stage and return what it gives; `label` tells stages of one verb apart."""
        ...


class Direct:
    """Calls each stage as it comes."""

    batch_size: int | None = None

    def __call__(self, verb: str, work: Callable[[], T], label: str = "") -> T:
        """Do the work."""
        return work()


def parts(items: Sequence[T], size: int | None) -> Iterator[tuple[str, Sequence[T]]]:
    """Parts of a sequence, each with a label: "257–512 of 1,000"."""
    size = size or max(len(items), 1)
    for first in range(0, len(items), size):
        part = items[first : first + size]
        yield f"{first + 1:,}–{first + len(part):,} of {len(items):,}", part
