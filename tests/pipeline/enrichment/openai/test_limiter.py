"""Pacing, on a clock that stands still unless somebody sleeps."""

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

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


def _read(limiter: Limiter, sent_at: float | None = None, **headers: str) -> None:
    """Read headers such as `limit_requests`."""
    told = {f"x-ratelimit-{name.replace('_', '-')}": value for name, value in headers.items()}
    limiter.read_headers(told, 100, sent_at)


def test_without_a_limit_nobody_waits() -> None:
    limiter, _ = _limiter()
    assert _sent(limiter, 1_000) == [1_000.0] * 1_000
    assert limiter.requests_per_second(100) is None


def test_requests_go_evenly_just_below_their_limit() -> None:
    limiter, _ = _limiter(requests=600)
    moments = _sent(limiter, 200)
    assert _pace(moments[2:]) == pytest.approx(0.98 * 600, rel=0.001)
    gaps = [after - before for before, after in pairwise(moments)]
    assert min(gaps[2:]) == pytest.approx(max(gaps[2:])) == pytest.approx(60 / 588)


@pytest.mark.parametrize(
    ("requests", "pace"),
    [(None, 120), (60, 58.8)],  # of the limit of 980 tokens a second, and of the tighter one
)
def test_tokens_pace_requests_as_requests_do_and_the_tighter_limit_decides(requests: float | None, pace: float) -> None:
    limiter, _ = _limiter(requests, tokens=60_000)
    assert _pace(_sent(limiter, 50, tokens=490)) == pytest.approx(pace, rel=0.01)
    assert limiter.requests_per_second(490) == pytest.approx(pace / 60)


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
    assert used * 50 / (moments[-1] - moments[-51]) == pytest.approx(980, rel=0.01)
    assert clock.now == moments[-1]


def test_whoever_gives_up_waits_a_quarter_of_a_second_at_most() -> None:
    limiter, clock = _limiter(requests=1)
    _sent(limiter, 2)
    begun, cancelled = clock.now, iter([False, True])
    assert _now(limiter.admit(1, lambda: next(cancelled))) - begun == pytest.approx(0.25)


@pytest.mark.parametrize(("asked_s", "waited_s"), [(7.5, 7.5), (86_400.0, 120.0)])
def test_a_refusal_stops_everybody_until_the_servers_word_and_two_minutes_at_most(
    asked_s: float, waited_s: float
) -> None:
    limiter, _ = _limiter(requests=6_000)
    sent_at = _sent(limiter, 1)[0]
    limiter.refused(sent_at, asked_s)
    assert _sent(limiter, 1)[0] == pytest.approx(sent_at + waited_s)


def test_a_wait_that_was_too_short_grows_threefold_up_to_twenty_seconds() -> None:
    limiter, clock = _limiter(requests=6_000)
    pauses = []
    for _ in range(6):
        sent_at = _sent(limiter, 1)[0]
        limiter.refused(sent_at, None)
        pauses.append(_sent(limiter, 1)[0] - sent_at)
        limiter.refused(clock.now, None)
    assert limiter.refusals_in_a_row == 12
    assert pauses[0] == pytest.approx(0.75)
    assert max(pauses) <= 41  # up to twice as long where a minute is nearly over


def test_refusals_of_requests_in_flight_together_cut_the_rate_once() -> None:
    limiter, clock = _limiter(requests=6_000)
    together = _sent(limiter, 100)
    clock.now += 0.5
    for sent_at in together[70:]:
        limiter.refused(sent_at, 0.5)
    _sent(limiter, 2)
    rate = limiter.requests_per_second(1)
    assert rate is not None and 98 * 0.8 * 0.9 < rate < 98


def test_one_refusal_soon_after_the_start_cuts_the_rate_by_a_quarter_at_most() -> None:
    limiter, clock = _limiter(requests=6_000)
    sent_at = _sent(limiter, 2)[1]
    clock.now += 0.1
    limiter.refused(sent_at, 2.0)
    _sent(limiter, 2)
    rate = limiter.requests_per_second(1)
    assert rate is not None and rate >= 0.75 * 98


def test_a_rate_that_was_cut_is_given_back_within_a_minute_and_never_passes_the_limit() -> None:
    limiter, clock = _limiter(requests=6_000)
    for _ in range(5):
        limiter.refused(_sent(limiter, 2)[1], 0.5)
    rates = []
    while clock.now <= 1_065:
        _sent(limiter, 30)
        rate = limiter.requests_per_second(1)
        assert rate is not None
        rates.append(rate)
    assert rates[0] < 0.5 * 98
    assert rates == sorted(rates)
    assert rates[-1] == pytest.approx(98)


@pytest.mark.parametrize(
    ("configured", "told", "rate"),
    [
        (6_000, "600", 9.8),
        (6_000, "60000", 98),  # headers never raise a limit of the settings
        (None, "600", 9.8),
        *((600, junk, 9.8) for junk in ("", "many", "-5", "nan", "inf", "0")),
    ],
)
def test_a_limit_in_a_header_lowers_that_of_the_settings_or_stands_in_its_place(
    configured: float | None, told: str, rate: float
) -> None:
    limiter, _ = _limiter(configured)
    _read(limiter, limit_requests=told, remaining_requests="x")
    assert limiter.requests_per_second(1) == pytest.approx(rate)
    _read(limiter, limit_tokens="60000")
    assert limiter.requests_per_second(980) == pytest.approx(1.0)


def test_where_nothing_is_left_only_what_is_missing_is_waited_for_from_when_the_request_was_sent() -> None:
    limiter, clock = _limiter()
    # 60 s until all 600 are there again: one is there in a tenth of a second.
    _read(limiter, limit_requests="600", remaining_requests="0", reset_requests="1m0s")
    assert _now(limiter.admit(100)) == clock.now == pytest.approx(1_000.1)
    limiter, clock = _limiter()
    sent_at = _sent(limiter, 1)[0]
    clock.now += 20
    _read(limiter, sent_at, limit_requests="60", remaining_requests="0", reset_requests="60")
    assert _sent(limiter, 1) == [sent_at + 20]


_HEADERS = st.sampled_from(["-5", "0", "nan", "inf", "1e300", "many", "", "3", "600", "1d", "99999999d", "0.001"])


@settings(phases=[Phase.generate])
@given(
    st.integers(1, 900),
    st.lists(st.tuples(st.booleans(), st.one_of(st.none(), st.floats(0, 1e5)), _HEADERS, _HEADERS), max_size=30),
)
def test_whatever_a_server_says_no_minute_has_more_than_the_configured_requests_and_each_wait_ends(
    per_minute: int, responses: list[tuple[bool, float | None, str, str]]
) -> None:
    limiter, clock = _limiter(requests=per_minute)
    moments: list[float] = []
    for refuses, retry_after_s, limit, remaining in responses:
        before = clock.now
        moments += _sent(limiter, 2)
        assert clock.now - before < 400  # two minutes at most for a word of the server, a minute for a slow rate
        _read(limiter, limit_requests=limit, remaining_requests=remaining, reset_requests=remaining)
        if refuses:
            limiter.refused(moments[-1], retry_after_s)
        rate = limiter.requests_per_second(100)
        assert rate is not None and 0 < rate <= per_minute / 60
    assert all(sum(start <= moment < start + 60 for moment in moments) <= per_minute for start in moments)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("350ms", 0.35),
        ("6m0s", 360.0),
        ("1h2m3.5s", 3_723.5),
        ("2d", 172_800.0),
        ("1.5", 1.5),
        *((junk, None) for junk in ("", None, "soon", "-3", "inf", "in 5s or so")),
    ],
)
def test_durations_are_read_as_servers_write_them(text: str | None, seconds: float | None) -> None:
    assert duration(text) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "40", "retry-after": "1"}, 0.04),
        ({"retry-after": "2s"}, 2.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)}, 86_400.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),  # past
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 -0000"}, None),
        ({}, None),
    ],
)
def test_the_time_to_wait_is_read_from_every_form_of_the_header(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == (None if seconds is None else pytest.approx(seconds, rel=0.05))
