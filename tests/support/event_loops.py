"""An event loop that is closed: frameworks that run an agent without `async` make one, and leave it open."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def own_event_loop() -> Iterator[None]:
    """Set an event loop for this thread, and close it at the end: left open, it warns in whichever test comes later."""
    with asyncio.Runner() as runner:
        asyncio.set_event_loop(runner.get_loop())
        yield
