"""When a request may be sent, on a simulated clock."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pipeline.enrichment.openai.chat import retry_after
from pipeline.enrichment.openai.pace import Pace


class _Clock:
    """A clock that requests move on: each is sent as soon as its pace lets it."""

    def __init__(self, pace: Pace) -> None:
        self.now = 1_000.0
        self._pace = pace

    def sent(self, count: int, tokens: int = 100) -> list[float]:
        """Return the moments at which so many requests were sent."""
        moments = []
        for _ in range(count):
            self.now += max(self._pace.wait_s(self.now), 0.0)
            self._pace.sent(self.now, tokens)
            moments.append(self.now)
        return moments


def _rate(moments: list[float]) -> float:
    """Return requests per minute."""
    return 60 * (len(moments) - 1) / (moments[-1] - moments[0])


def test_without_a_limit_nobody_waits() -> None:
    pace = Pace()
    clock = _Clock(pace)
    assert len(set(clock.sent(1_000))) == 1
    assert pace.requests_per_second(clock.now) is None


@pytest.mark.parametrize(
    ("requests", "tokens", "rate"),
    [(600, None, 588), (None, 60_000, 120), (60, 60_000, 58.8)],  # .98 of the tighter limit, at 490 tokens a request
)
def test_requests_go_evenly_just_below_their_limit(requests: float | None, tokens: float | None, rate: float) -> None:
    moments = _Clock(Pace(requests, tokens)).sent(100, tokens=490)
    assert _rate(moments[2:]) == pytest.approx(rate, rel=0.01)
    gaps = [after - before for before, after in pairwise(moments[2:])]
    assert min(gaps) == pytest.approx(max(gaps))


def test_after_a_stall_a_tenth_of_a_second_is_caught_up_on_and_no_more() -> None:
    clock = _Clock(Pace(6_000))  # 98 a second
    clock.sent(100)
    clock.now += 3_600
    moments = clock.sent(100)
    # 0.1 s x 98 = 9.8 at once, and the one whose turn it is.
    assert sum(moment == moments[0] for moment in moments) == 10
    assert _rate(moments[40:]) == pytest.approx(0.98 * 6_000, rel=0.03)


@pytest.mark.parametrize("used", [50, 400])
def test_the_servers_count_of_tokens_corrects_the_estimate(used: int) -> None:
    pace = Pace(None, 60_000)
    clock, moments = _Clock(pace), []
    for _ in range(100):
        moments += clock.sent(1, tokens=200)
        pace.answered(clock.now, clock.now, {}, 200, used)
    assert used * 50 / (moments[-1] - moments[-51]) == pytest.approx(980, rel=0.01)


@pytest.mark.parametrize(("asked_s", "waited_s"), [(7.5, 7.5), (86_400.0, 120.0)])
def test_a_refusal_stops_everybody_until_the_servers_word_and_two_minutes_at_most(
    asked_s: float, waited_s: float
) -> None:
    pace = Pace(6_000)
    clock = _Clock(pace)
    (sent_at,) = clock.sent(1)
    pace.refused(sent_at, clock.now, asked_s)
    assert clock.sent(1) == [pytest.approx(sent_at + waited_s)]


def test_a_wait_that_was_too_short_doubles_up_to_ten_seconds_and_requests_in_flight_together_cause_one() -> None:
    pace, pauses = Pace(), []
    clock = _Clock(pace)
    in_flight = clock.sent(3)
    for _ in range(7):
        clock.now += 0.01
        begun = clock.now
        for sent_at in in_flight:
            pace.refused(sent_at, clock.now, None)
        in_flight = clock.sent(1)
        pauses.append(in_flight[0] - begun)
    assert pauses == pytest.approx([0.75, 1.5, 3.0, 6.0, 10.0, 10.0, 10.0])
    assert pace.refusals == 7


def test_one_refusal_cuts_the_rate_by_a_quarter_at_most_and_it_is_given_back_within_a_minute() -> None:
    pace, rates = Pace(6_000), []
    clock = _Clock(pace)
    pace.refused(clock.sent(2)[1], clock.now, 2.0)
    clock.sent(2)
    until = clock.now + 60
    while clock.now < until:
        clock.sent(30)
        rates.append(pace.requests_per_second(clock.now))
    assert rates[0] is not None and 0.75 * 98 < rates[0] < 98
    assert rates == sorted(rates, key=lambda rate: rate or 0)
    assert rates[-1] == pytest.approx(98)  # never above the limit


def test_a_learned_rate_that_nobody_uses_does_not_grow() -> None:
    clock = _Clock(pace := Pace())
    pace.refused(clock.sent(20)[-1], clock.now, 1.0)
    for _ in range(40):
        clock.sent(1)
        clock.now += 10
    assert pace.requests_per_second(clock.now) == pytest.approx(20, rel=0.1)


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
    pace = Pace(configured)
    pace.answered(0.0, 0.0, {"x-ratelimit-limit-requests": told}, 100, 100)
    assert pace.requests_per_second(0.0) == pytest.approx(rate)


_WORDS = st.sampled_from(["-5", "0", "nan", "inf", "1e300", "many", "", "3", "600", "0.001"])


@settings(phases=[Phase.generate])
@given(
    st.integers(1, 900),
    st.lists(st.tuples(st.booleans(), st.one_of(st.none(), st.floats(0, 1e5)), _WORDS), max_size=30),
)
def test_whatever_a_server_says_no_minute_has_more_than_the_configured_requests_and_each_wait_ends(
    per_minute: int, responses: list[tuple[bool, float | None, str]]
) -> None:
    pace, moments = Pace(per_minute), []
    clock = _Clock(pace)
    for refuses, retry_after_s, limit in responses:
        before = clock.now
        moments += clock.sent(2)
        assert clock.now - before < 400  # two minutes at most for a word of the server, a minute for a slow rate
        pace.answered(clock.now, clock.now, {"x-ratelimit-limit-requests": limit}, 100, 100)
        if refuses:
            pace.refused(moments[-1], clock.now, retry_after_s)
        rate = pace.requests_per_second(clock.now)
        assert rate is not None and 0 < rate <= per_minute / 60
    assert all(sum(start <= moment < start + 60 for moment in moments) <= per_minute for start in moments)


_IN_A_DAY = format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "350", "retry-after": "9"}, 0.35),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": _IN_A_DAY}, 86_400.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        *(({"retry-after": junk}, None) for junk in ("", "soon", "-5", "nan", "inf")),
        ({}, None),
    ],
)
def test_a_server_says_how_long_to_wait_in_one_of_three_ways(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == (None if seconds is None else pytest.approx(seconds, rel=0.1))
