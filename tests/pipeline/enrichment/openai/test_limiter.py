"""Pacing, on a clock that stands still unless somebody sleeps."""

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from typing import Any

import pytest

from pipeline.enrichment.openai.faults import retry_after
from pipeline.enrichment.openai.limiter import Limiter
from pipeline.enrichment.openai.rate_headers import duration


class _Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def _limiter(requests: float | None = None, tokens: float | None = None) -> tuple[Limiter, _Clock]:
    clock = _Clock()
    return Limiter(requests, tokens, clock, clock.sleep), clock


def _now(awaited: Coroutine[Any, Any, float]) -> float:
    return asyncio.run(awaited)


def _sent(limiter: Limiter, count: int, tokens: int = 100) -> list[float]:
    """Return the moments at which so many requests were sent."""

    async def ask() -> list[float]:
        return [await limiter.admit(tokens) for _ in range(count)]

    return asyncio.run(ask())


def _pace(moments: list[float]) -> float:
    """Return requests per minute."""
    return 60 * (len(moments) - 1) / (moments[-1] - moments[0])


def test_without_a_limit_nobody_waits() -> None:
    limiter, _ = _limiter()
    assert _sent(limiter, 1_000) == [1_000.0] * 1_000
    assert limiter.requests_per_second(100) is None


def test_requests_go_evenly_just_below_their_limit() -> None:
    limiter, clock = _limiter(requests=600)
    limiter.refused(clock.now, 0.0)  # from now on without bursts
    moments = _sent(limiter, 200)
    assert _pace(moments) == pytest.approx(0.98 * 600 * 0.985, rel=0.002)
    gaps = [after - before for before, after in pairwise(moments)]
    assert min(gaps[1:]) == pytest.approx(max(gaps[1:])) == pytest.approx(60 / 579.18)


def test_no_sliding_second_holds_a_request_too_many_once_bursts_have_ended() -> None:
    limiter, clock = _limiter(requests=6_000)
    limiter.refused(clock.now, 0.0)
    moments = _sent(limiter, 500)
    assert max(sum(start <= m < start + 1 for m in moments) for start in moments) <= 100


def test_tokens_pace_requests_as_requests_do() -> None:
    limiter, _ = _limiter(tokens=60_000)  # 980 a second
    assert _pace(_sent(limiter, 200, tokens=490)) == pytest.approx(120, rel=0.01)
    assert limiter.requests_per_second(490) == pytest.approx(2.0)


def test_the_tighter_limit_decides() -> None:
    limiter, _ = _limiter(requests=60, tokens=60_000)
    assert _pace(_sent(limiter, 50, tokens=490)) == pytest.approx(58.8, rel=0.01)
    assert limiter.requests_per_second(490) == pytest.approx(0.98)


def test_after_a_stall_a_tenth_of_a_second_is_caught_up_on_and_no_more() -> None:
    limiter, clock = _limiter(requests=6_000)  # 98 a second
    _sent(limiter, 100)
    clock.now += 3_600
    moments = _sent(limiter, 100)
    # 0.1 s x 98 = 9.8 at once, and the one whose turn it is.
    assert sum(moment == moments[0] for moment in moments) == 10
    assert 60 * 60 / (moments[-1] - moments[40]) == pytest.approx(0.98 * 6_000, rel=0.03)


@pytest.mark.parametrize("used", [50, 400])
def test_the_servers_count_of_tokens_corrects_the_estimate(used: int) -> None:
    limiter, clock = _limiter(tokens=60_000)
    moments = []
    for _ in range(100):
        moments.append(_now(limiter.admit(200)))
        limiter.settle(200, used)
    spent = used * 50 / (moments[-1] - moments[-51])
    assert spent == pytest.approx(980, rel=0.01)
    assert clock.now == moments[-1]


def test_whoever_gives_up_waits_a_quarter_of_a_second_at_most() -> None:
    limiter, clock = _limiter(requests=1)
    _sent(limiter, 2)
    begun, cancelled = clock.now, iter([False, True])
    assert _now(limiter.admit(1, lambda: next(cancelled))) - begun == pytest.approx(0.25)


def test_a_refusal_stops_everybody_until_the_servers_word() -> None:
    limiter, clock = _limiter(requests=6_000)
    sent_at = _sent(limiter, 1)[0]
    limiter.refused(sent_at, 7.5)
    assert _sent(limiter, 1)[0] == pytest.approx(sent_at + 7.5)
    limiter.refused(clock.now, None)  # no word: a second
    assert _sent(limiter, 1)[0] == pytest.approx(sent_at + 8.5)


def test_no_server_makes_a_build_wait_for_more_than_two_minutes_at_once() -> None:
    limiter, clock = _limiter(requests=6_000)
    limiter.refused(clock.now, 86_400.0)
    assert _sent(limiter, 1)[0] == pytest.approx(1_120.0)


def test_the_first_refusal_ends_bursts_and_lowers_the_rate_a_little() -> None:
    limiter, clock = _limiter(requests=6_000)
    limiter.refused(clock.now, 0.0)
    clock.now += 3_600
    moments = _sent(limiter, 200)
    assert sum(moment == moments[0] for moment in moments) <= 2
    assert _pace(moments) == pytest.approx(0.98 * 6_000, rel=0.01)  # an hour later all of it is given back


def test_refusals_of_one_burst_cut_the_rate_once_and_those_that_follow_soon_twice_as_much_each() -> None:
    limiter, clock = _limiter(requests=6_000)
    rates = []
    for _ in range(3):
        together = _sent(limiter, 30)
        clock.now += 0.5
        for sent_at in together:
            limiter.refused(sent_at, 0.0)
        rate = limiter.requests_per_second(1)
        assert rate is not None
        rates.append(rate)
    assert rates == pytest.approx([98 * 0.985, 98 * 0.985 * 0.97, 98 * 0.985 * 0.97 * 0.94])
    clock.now += 4
    limiter.refused(clock.now, 0.0)
    assert limiter.requests_per_second(1) == pytest.approx(rates[-1] * 0.985)


def test_a_rate_that_was_cut_is_given_back_minute_by_minute_and_never_passes_the_limit() -> None:
    limiter, clock = _limiter(requests=6_000)
    for _ in range(3):
        limiter.refused(clock.now, 0.0)
        clock.now += 20
    rates = []
    for _ in range(4):
        clock.now += 61
        _sent(limiter, 1)
        rate = limiter.requests_per_second(1)
        assert rate is not None
        rates.append(rate)
    cut = 98 * 0.985**3
    assert rates == pytest.approx([cut * 1.02, cut * 1.02**2, 98, 98])  # 0.985^3 x 1.02^3 > 1


def test_headers_lower_the_limit_and_never_raise_it() -> None:
    limiter, _ = _limiter(requests=6_000)
    limiter.read_headers({"x-ratelimit-limit-requests": "600"}, 100)
    assert limiter.requests_per_second(1) == pytest.approx(9.8)
    limiter.read_headers({"x-ratelimit-limit-requests": "60000"}, 100)
    assert limiter.requests_per_second(1) == pytest.approx(9.8)


def test_headers_are_the_limit_where_settings_have_none() -> None:
    limiter, _ = _limiter()
    limiter.read_headers({"x-ratelimit-limit-requests": "600", "x-ratelimit-limit-tokens": "60000"}, 100)
    assert limiter.requests_per_second(10) == pytest.approx(9.8)
    assert limiter.requests_per_second(980) == pytest.approx(1.0)


@pytest.mark.parametrize("junk", ["", "many", "-5", "nan", "inf", "0"])
def test_a_header_that_is_no_limit_is_none(junk: str) -> None:
    limiter, _ = _limiter(requests=600)
    limiter.read_headers({"x-ratelimit-limit-requests": junk, "x-ratelimit-remaining-requests": junk or "x"}, 100)
    assert limiter.requests_per_second(1) == pytest.approx(9.8)


def test_where_nothing_is_left_only_what_is_missing_is_waited_for() -> None:
    limiter, clock = _limiter()
    # 60 s until all 600 are there again: one is there in a tenth of a second.
    headers = {"limit-requests": "600", "remaining-requests": "0", "reset-requests": "1m0s"}
    limiter.read_headers({f"x-ratelimit-{name}": value for name, value in headers.items()}, 100)
    assert _now(limiter.admit(100)) == pytest.approx(1_000.1)
    assert clock.now == pytest.approx(1_000.1)


def test_where_nobody_tells_a_limit_the_first_refusal_does() -> None:
    limiter, clock = _limiter()
    moments = []
    for _ in range(100):  # 20 a second, for 5 s
        moments += _sent(limiter, 1)
        clock.now += 0.05
    limiter.refused(moments[-1], 0.0)
    assert limiter.requests_per_second(1) == pytest.approx(0.98 * 20, rel=0.01)
    assert _pace(_sent(limiter, 200)) == pytest.approx(60 * 0.98 * 20, rel=0.15)


def test_a_limit_that_was_guessed_grows_and_gives_way_to_a_header() -> None:
    limiter, clock = _limiter()
    _sent(limiter, 1)
    limiter.refused(clock.now, 0.0)  # one request in a second: 60 a minute
    assert limiter.requests_per_second(1) == pytest.approx(0.98)
    clock.now += 10
    _sent(limiter, 1)
    assert limiter.requests_per_second(1) == pytest.approx(0.98 * 1.05)
    limiter.read_headers({"x-ratelimit-limit-requests": "6000"}, 100)
    assert limiter.requests_per_second(1) == pytest.approx(98)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("350ms", 0.35),
        ("6m0s", 360.0),
        ("1h2m3.5s", 3_723.5),
        ("2d", 172_800.0),
        ("12", 12.0),
        ("1.5", 1.5),
        ("", None),
        (None, None),
        ("soon", None),
        ("-3", None),
        ("inf", None),
        ("in 5s or so", None),
    ],
)
def test_durations_are_read_as_servers_write_them(text: str | None, seconds: float | None) -> None:
    assert duration(text) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "40", "retry-after": "1"}, 0.04),
        ({"retry-after": "2s"}, 2.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),  # past
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 -0000"}, None),
        ({}, None),
    ],
)
def test_the_time_to_wait_is_read_from_every_form_of_the_header(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == (None if seconds is None else pytest.approx(seconds))


def test_a_date_to_wait_until_is_seconds_from_now() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert retry_after({"retry-after": date}) == pytest.approx(90, abs=2)
