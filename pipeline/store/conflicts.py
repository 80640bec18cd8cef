"""Run a decision again whose store somebody else changed meanwhile: see `DecisionStore.locked`."""

import functools
import random
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from router.snapshot.store.protocol import StoreChanged

_TRIES = 30
_LONGEST_PAUSE_S = 1.0

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def retried(decide: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Return the function that runs again, from what the store then holds, where it raises StoreChanged.

    For functions whose only effect is what one `locked` block writes. They pause between two tries, at random, so that
    writers that met once do not meet again. StoreChanged is raised in the end where all tries met another writer.
    """

    @functools.wraps(decide)
    def run(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        for attempt in range(_TRIES):
            try:
                return decide(*args, **kwargs)
            except StoreChanged:
                if attempt == _TRIES - 1:
                    raise
                time.sleep(random.uniform(0, min(_LONGEST_PAUSE_S, 0.02 * 2**attempt)))  # noqa: S311 - no secret
        raise AssertionError  # the last try returns or raises

    return run
