"""The pace under servers of every kind, on a simulated clock: deterministic, minutes in a second."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

from tests.pipeline.enrichment.limits import Limit
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


def _nightly(*values: Any) -> Any:
    return pytest.param(*values, marks=pytest.mark.nightly)


_RATES = ((None, 600), (600, 300))
_GATE = [
    (None, 600, "Retry-After", "sliding second"),
    (None, 600, "Retry-After", "bucket of a minute"),
    (600, 300, "no Retry-After", "bucket of a second"),
    (600, 300, "Retry-After in whole seconds", "sliding second"),  # where it is furthest from the true wait
    (None, 600, "Retry-After of 0", "bucket of a minute"),
]
_NIGHT = [
    *((*rates, wait, kind) for rates in _RATES for wait in ("Retry-After", "no Retry-After") for kind in _KINDS),
    (None, 600, "Retry-After in whole seconds", "sliding second"),
    (600, 300, "Retry-After of 0", "bucket of a minute"),
]


@pytest.mark.parametrize(
    ("configured", "allowed", "wait", "kind"), [*_GATE, *(_nightly(*row) for row in _NIGHT if row not in _GATE)]
)
def test_nine_tenths_of_the_servers_rate_are_used_and_a_fiftieth_is_refused_after_a_minute(
    configured: float | None, allowed: float, wait: str, kind: str
) -> None:
    server = _server(kind, allowed, wait_told=_WAITS[wait])
    outcomes = ask(server, _TOOLS, requests_per_minute=configured)
    assert not failures(outcomes) and len(outcomes) == _TOOLS
    # The limit of a second that nobody tells is found from above, at a pause for each cut: that takes ten seconds.
    assert share(server, allowed) >= (0.87 if kind == "sliding second" and configured is None else 0.9)
    assert refused_after(server, 60) <= 0.02 * _TOOLS


@pytest.mark.parametrize("kind", ["sliding minute", *map(_nightly, ("fixed minute", "bucket of a second"))])
def test_a_limit_that_the_settings_know_is_used_and_nothing_is_refused(kind: str) -> None:
    server = _server(kind, 600)
    ask(server, _TOOLS, requests_per_minute=600)
    assert 0.95 <= share(server, 600) <= 1.0
    assert refused_after(server, 5) == 0


@pytest.mark.parametrize("kind", [_nightly("sliding minute"), "bucket of a second"])
def test_limits_of_tokens_are_found_as_those_of_requests_are(kind: str) -> None:
    server = _server(kind, 360_000, "tokens", wait_told=_WAITS["no Retry-After"])
    ask(server, _TOOLS, tokens_per_minute=720_000)
    assert share(server, 360_000, "tokens") >= 0.9
    assert refused_after(server, 60) <= 0.02 * _TOOLS


@pytest.mark.parametrize(("configured", "allowed"), [_nightly(None, 600), (600, 300)])
def test_a_servers_headers_are_believed(configured: float | None, allowed: float) -> None:
    server = _server("sliding minute", allowed, headers=_openai_headers)
    ask(server, _TOOLS, requests_per_minute=configured)
    assert share(server, allowed) >= 0.95
    assert refused_after(server, 0) <= 1


@pytest.mark.parametrize("factor", [2.0, _nightly(10.0)])
def test_headers_that_promise_too_much_cost_no_more_than_none(factor: float) -> None:
    server = _server("sliding minute", 300, headers=partial(_openai_headers, factor=factor))
    ask(server, _TOOLS)
    assert share(server, 300) >= 0.9
    assert refused_after(server, 60) <= 0.02 * _TOOLS


@pytest.mark.parametrize(
    ("allowed", "latency"),
    [(300, (0.2, 20.0)), *(_nightly(*row) for row in ((600, (20.0, 20.0)), (600, (0.2, 20.0)), (300, (20.0, 20.0))))],
)
def test_long_answers_do_not_slow_a_build_whose_limit_is_known(allowed: float, latency: tuple[float, float]) -> None:
    server = _server("sliding minute", allowed, latency=latency)
    ask(server, _TOOLS, requests_per_minute=600)
    assert share(server, allowed, after_s=latency[0]) >= 0.9
    assert server.most_in_flight <= 1.5 * 600 / 60 * latency[1] + 8


@pytest.mark.parametrize(("told", "factor"), [(False, 0.5), (False, 2.0), _nightly(True, 0.5), _nightly(True, 2.0)])
def test_a_limit_that_changes_is_found_within_a_minute(factor: float, told: bool) -> None:
    def change(server: SimulatedServer) -> None:
        server.limits["requests"].per_minute *= factor

    fields: dict[str, Any] = {"headers": _openai_headers} if told else {}
    server = _server("sliding minute", 300, events={90.0: change}, **fields)
    ask(server, 1_600 if factor > 1 else 900, requests_per_minute=1_200)
    assert share(server, 300 * factor, after_s=90 + 30) >= 0.9


def test_a_neighbour_that_takes_half_leaves_the_other_half() -> None:
    server = _server("bucket of a second", 600, neighbour_per_minute=300)
    ask(server, _TOOLS, requests_per_minute=600)
    assert share(server, 300) >= 0.9
    assert refused_after(server, 60) <= 0.02 * _TOOLS


def test_a_server_that_is_busy_for_two_minutes_is_asked_at_its_old_rate_two_minutes_later() -> None:
    def busy(server: SimulatedServer) -> None:
        server.limits["requests"].per_minute /= 1_000

    def free(server: SimulatedServer) -> None:
        server.limits["requests"].per_minute *= 1_000

    server = _server("bucket of a second", 600, wait_told=_WAITS["no Retry-After"], events={30.0: busy, 90.0: free})
    outcomes = ask(server, 1_600)
    assert not failures(outcomes)
    assert share(server, 600, after_s=210) >= 0.9


def test_a_server_that_refuses_for_good_is_left_alone_after_a_few_minutes() -> None:
    def shut(server: SimulatedServer) -> None:
        server.limits["requests"].per_minute = 1e-9

    server = _server("bucket of a second", 600, wait_told=_WAITS["no Retry-After"], events={20.0: shut})
    outcomes = ask(server, _TOOLS, seconds=900)
    assert len(outcomes) == _TOOLS
    unasked = [failure for failure in failures(outcomes) if not failure.asked]
    assert len(unasked) > _TOOLS / 2
    assert "the server's limit is used up" in unasked[0].message
    assert server.refused[-1] - server.accepted[-1][0] < 300


def test_a_server_without_limits_is_asked_more_at_once_as_long_as_it_answers_faster() -> None:
    hosted = _server("sliding minute", 1e9, latency=(2.0, 4.0))
    ask(hosted, _TOOLS)
    assert hosted.most_in_flight == 128
