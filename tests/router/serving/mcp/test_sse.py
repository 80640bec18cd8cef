"""Upstreams over HTTP+SSE: the bound on their events, and a server that speaks the protocol before 2026 alone."""

import asyncio
import json
from pathlib import Path

import httpx2
import pytest

from router import Router
from router.serving.mcp import Upstream, UpstreamFailed, connected
from router.serving.mcp.transports import _BoundedEvents
from tests.router.serving.mcp import plain_sse
from tests.router.serving.mcp.conftest import listening, text_of
from tests.router.serving.mcp.desk import HERE


class Parts(httpx2.AsyncByteStream):
    def __init__(self, *parts: bytes) -> None:
        self._parts = parts

    async def __aiter__(self):  # type: ignore[no-untyped-def]
        for part in self._parts:
            yield part


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n"])
def test_many_short_events_pass_and_one_long_event_fails(end: bytes) -> None:
    async def read(*parts: bytes) -> int:
        response = httpx2.Response(200, stream=Parts(*parts))
        return sum([len(part) async for part in _BoundedEvents(response, 100)])

    event = b"data: " + b"x" * 50 + end
    assert asyncio.run(read(*[event] * 50)) == 50 * len(event)
    with pytest.raises(httpx2.StreamError, match="more than 100 bytes"):
        asyncio.run(read(event, *[b"y" * 60] * 2))


def test_a_server_whose_list_is_longer_than_a_message_may_be_cannot_be_used(
    desk_router: Router, tmp_path: Path
) -> None:
    record = desk_router.record("clerk/told")
    assert record is not None
    with listening(tmp_path, HERE / "clerk.py", "sse") as port:
        upstream = Upstream(
            "clerk", url=f"http://127.0.0.1:{port}/sse", provider="clerk", sse=True, max_message_bytes=600, timeout_s=3
        )

        async def call() -> None:
            async with connected([upstream]) as upstreams:
                with pytest.raises(UpstreamFailed, match="the MCP server 'clerk' cannot be reached: Connection closed"):
                    await upstreams.call(record, {})

        asyncio.run(call())


def test_a_server_of_2025_that_has_no_other_transport_is_called(weather_router: Router) -> None:
    record = weather_router.record("plain/echo")
    assert record is not None
    with plain_sse.serving() as plain:
        upstream = Upstream("plain", url=plain.url, provider="plain", sse=True, timeout_s=10)

        async def call() -> str:
            async with connected([upstream]) as upstreams:
                return text_of(await upstreams.call(record, {"text": "für"}))

        assert json.loads(asyncio.run(call()))["arguments"] == {"text": "für"}
    assert plain.called[-4:] == ["initialize", "notifications/initialized", "tools/list", "tools/call"]
