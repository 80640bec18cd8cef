"""A client's rate: what passes in any stretch of time is bounded, and who waits as told is let through."""

from hypothesis import given
from hypothesis import strategies as st

from quartermaster.serving.tokens import RateLimit, client_network


def test_a_tenth_of_a_minutes_requests_may_come_at_once_then_one_at_a_time() -> None:
    rate = RateLimit(60)  # one a second, six at once
    assert [rate.wait("a", 100.0) for _ in range(8)] == [0] * 6 + [1, 1]
    assert rate.wait("a", 101.0) == 0
    assert rate.wait("a", 101.0) == 1
    assert rate.wait("b", 101.0) == 0
    assert [rate.wait("a", 9_999.0) for _ in range(8)] == [0] * 6 + [1, 1]  # nobody saves up


@given(st.integers(1, 600), st.lists(st.floats(0, 5), min_size=1, max_size=200))
def test_no_stretch_of_time_passes_more_than_a_burst_and_the_rate(per_minute: int, pauses: list[float]) -> None:
    rate, now, passed = RateLimit(per_minute), 0.0, []
    for pause in pauses:
        now += pause
        if not rate.wait("a", now):
            passed.append(now)
    burst = max(per_minute // 10, 1)
    for first, begin in enumerate(passed):
        for last in range(first, len(passed)):
            assert last - first + 1 <= burst + (passed[last] - begin) * per_minute / 60 + 1e-6


@given(st.integers(1, 600), st.lists(st.floats(0, 5), min_size=1, max_size=100))
def test_who_waits_as_told_is_let_through(per_minute: int, pauses: list[float]) -> None:
    rate, now = RateLimit(per_minute), 0.0
    for pause in pauses:
        now += pause
        if wait := rate.wait("a", now):
            now += wait
            assert rate.wait("a", now) == 0


def test_the_addresses_of_one_network_of_64_bits_are_one_client() -> None:
    assert client_network("2001:db8::1") == client_network("2001:db8::ffff") != client_network("2001:db8:0:1::1")
    assert client_network("10.0.0.1") != client_network("10.0.0.2")
    assert client_network("fe80::1%eth0") == client_network("fe80::2%eth1")
    assert client_network("no:address") == "no:address"
