"""The pace under servers of every kind, on a simulated clock: deterministic, minutes in a second."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.pipeline.enrichment.limited_server import Limit
from tests.pipeline.enrichment.simulated_server import SimulatedServer, ask, failures, refused_after, share

_TOOLS = 800
# Each kind of server: how it counts, and how many seconds' worth a bucket holds.
_KINDS = {
    "sliding minute": ("minute", 0.0),
    "fixed minute": ("fixed", 0.0),
    "sliding second": ("second", 0.0),
    "bucket of a second": ("bucket", 1.0),
    "bucket of a minute": ("bucket", 60.0),
}
_WAITS: dict[str, Callable[[float], str | None]] = {
    "Retry-After": lambda wait: f"{wait:.3f}",
    "no Retry-After": lambda _: None,
    "Retry-After in whole seconds": lambda wait: str(int(wait) + 1),
    "Retry-After of 0": lambda _: "0",
}


def _openai_headers(limits: Mapping[str, Limit], now: float, factor: float = 1.0) -> dict[str, str]:
    headers = {}
    for kind, limit in limits.items():
        headers[f"x-ratelimit-limit-{kind}"] = f"{factor * limit.per_minute:.0f}"
        headers[f"x-ratelimit-remaining-{kind}"] = f"{max(0.0, factor * limit.left(now)):.0f}"
        headers[f"x-ratelimit-reset-{kind}"] = f"{limit.reset(now) * 1e3:.0f}ms"
    return headers


def _server(kind: str, allowed: float, counted: str = "requests", **fields: Any) -> SimulatedServer:
    style, burst_s = _KINDS[kind]
    return SimulatedServer({counted: Limit(allowed, style, 60.0, burst_s or 1.0)}, **fields)


@pytest.mark.parametrize("wait", _WAITS)
@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize(("configured", "allowed"), [(None, 600), (600, 300)])
def test_nine_tenths_of_the_servers_rate_are_used_and_a_hundredth_is_refused_after_a_minute(
    configured: float | None, allowed: float, kind: str, wait: str
) -> None:
    server = _server(kind, allowed, wait_told=_WAITS[wait])
    outcomes = ask(server, _TOOLS, requests_per_minute=configured)
    assert not failures(outcomes) and len(outcomes) == _TOOLS
    print(f"{kind}|{configured}|{allowed}|{wait}|{share(server, allowed):.3f}|{refused_after(server, 60)}|{len(server.accepted)}|{sum(a>server.accepted[0][0]+60 for a,_ in server.accepted)}")
    assert share(server, allowed) >= 0.9
    assert refused_after(server, 60) <= 0.01 * _TOOLS
