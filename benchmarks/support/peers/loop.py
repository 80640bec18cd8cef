"""An event loop for the peers that are asynchronous."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any


class Loop:
    """An event loop in a thread, for peers that are asynchronous."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return the result of a coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
