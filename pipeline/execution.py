"""How a build's stages are carried out: called one after the other, or each as a task of a flow."""

from collections.abc import Callable
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
