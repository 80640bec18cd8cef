"""A build that is killed, and finished."""

from tests.benchmarks.enrichment_kills import kills


def test_a_killed_build_loses_what_was_under_way_and_no_more() -> None:
    result = kills(200, 2, rpm=6_000, seed=3, latency=(0.02, 0.1))
    assert (result["exit"], result["in_ledger"]) == (0, 200)
    assert [row["asked_twice"] for row in result["kills"]] == [row["lost"] for row in result["kills"]]
    assert result["paid_twice"] == result["requests"] - 200
    # Eight places, and as many as the rate of 98 a second keeps busy for 0.1 s, and half as many again.
    assert max(row["lost"] for row in result["kills"]) <= 8 + 30
