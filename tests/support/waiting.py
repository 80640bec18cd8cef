"""Wait for what another thread or process does, and never without an end."""

import time
from collections.abc import Callable


def until(happens: Callable[[], object], seconds: float = 60) -> bool:
    """Wait until something happens; return False where it does not happen in time."""
    end = time.monotonic() + seconds
    while not happens() and time.monotonic() < end:
        time.sleep(0.005)
    return bool(happens())
