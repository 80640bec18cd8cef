"""Count what a live MCP server says, and end the connection where it says too much."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from pipeline.errors import RunAborted
from pipeline.settings import LimitsSettings

T = TypeVar("T")


class Allowance:
    """What a live server may say in one listing. `failure` is set where it says more, whatever the client makes of it:
    the client logs some errors and waits on."""

    failure: RunAborted | None = None

    def __init__(self, limits: LimitsSettings, subject: str) -> None:
        """`subject` names the server in messages."""
        self.limits = limits
        self._subject = subject
        self._left = limits.document_bytes
        self._crossed = asyncio.Event()

    def take(self, count: int) -> None:
        """Count bytes that the server sent. Raises RunAborted where there are too many in all."""
        self._left -= count
        if self._left < 0:
            raise self.fail(f"sent more than the {self.limits.document_bytes:,} bytes of limits.document_bytes")

    def check_message(self, length: int) -> None:
        """Raise RunAborted where a message of so many bytes, or its beginning, is too long."""
        if length > self.limits.message_bytes:
            raise self.fail(
                f"sent a message of more than the {self.limits.message_bytes:,} bytes of limits.message_bytes"
            )

    def fail(self, what: str) -> RunAborted:
        """End the listing. Returns the error that says what the server did, to be raised."""
        self.failure = self.failure or RunAborted(f"{self._subject} {what}")
        self._crossed.set()
        return self.failure

    async def bound(self, listing: Coroutine[Any, Any, T], seconds: float) -> T:
        """Return what a listing gives. Raises TimeoutError where it takes too long, `failure` where it
        sends too much."""
        task = asyncio.ensure_future(listing)
        crossed = asyncio.ensure_future(self._crossed.wait())
        try:
            await asyncio.wait((task, crossed), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if self.failure is not None:
                raise self.failure
            if not task.done():
                raise TimeoutError
            return await task
        finally:
            for one in (task, crossed):
                one.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task
