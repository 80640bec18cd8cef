"""The picture of an answer's ranks: by the logarithm, 1 on the left, the depth on the right."""

import pytest

from quartermaster.serving.page.routing import WIDTH, axis_position, axis_ticks, charted_signals, rank_rows
from router import Router, Signal


def test_a_rank_stands_by_its_logarithm() -> None:
    left, middle, right = axis_position(1, 100), axis_position(10, 100), axis_position(100, 100)
    assert left < middle < right
    assert middle == pytest.approx(WIDTH / 2)
    assert left == pytest.approx(WIDTH - right)
    assert axis_position(5_000, 100) == right
    assert [rank for rank, _ in axis_ticks(100)] == [1, 10, 100]
    assert [rank for rank, _ in axis_ticks(1)] == [1]


def test_the_shares_of_a_tool_add_up_to_its_score(router: Router) -> None:
    routed = router.route("give the customer their money back, then tell the team in slack", k=4, explain=True)
    signals = charted_signals(routed, router.manifest.signals)
    assert signals == (Signal.NAME, Signal.DESCRIPTION, Signal.EXPANSION, Signal.DENSE)
    for tool in routed:
        rows = rank_rows(tool, signals, 100)
        assert sum(row.share or 0 for row in rows) == pytest.approx(1)
        for row in rows:
            assert (row.x is None) == (row.rank is None)
            assert row.signal == "step" or row.rank == tool.ranks.get(Signal(row.signal))
