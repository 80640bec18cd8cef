"""Token-budget packing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.answer.packing import PackedTools, SkippedCandidate, pack
from router.errors import RequestInvalid
from router.provider_formats.formats import Detail

DETAILS = FULL, SHORT, SIGNATURE = tuple(Detail)


def costs(*rows: tuple[int, int, int]) -> np.ndarray:
    return np.array(rows, np.int32).reshape(-1, 3)


def alike(*full: int) -> np.ndarray:
    """Tools that cost the same however little is said."""
    return costs(*((cost, cost, cost) for cost in full))


def test_a_tool_too_large_is_skipped_and_smaller_ones_follow_to_the_last_token() -> None:
    packed = pack(alike(30, 500, 40, 20, 10), 100, 5, [FULL])
    skipped = SkippedCandidate(1, "needs 500 tokens, 70 left of 100")
    assert packed == PackedTools((0, 2, 3, 4), (FULL,) * 4, 100, (skipped,))
    assert pack(alike(5), 0, 3).skipped == (SkippedCandidate(0, "needs 5 tokens, 0 left of 0"),)
    assert pack(alike(), 10, 3) == pack(alike(5), 10, 0) == PackedTools((), (), 0, ())
    with pytest.raises(RequestInvalid, match="choose from full, short, signature"):
        pack(alike(5), 10, 3, [])


def test_the_first_get_their_tokens_before_all_others() -> None:
    assert pack(alike(60, 30, 30), 60, 3, [FULL]).positions == (0,)
    assert pack(alike(60, 30, 30), 60, 3, [FULL], first=[1, 2]).positions == (1, 2)
    assert pack(alike(60, 30, 30), 30, 3, [FULL], last=[1, 2], first=[2]).positions == (2,)


def test_tools_are_said_in_less_before_any_is_dropped() -> None:
    heavy = costs((600, 300, 90), (500, 200, 80), (400, 250, 70))
    assert pack(heavy, 1_000, 3, [FULL]).positions == (0, 2)
    shortened = pack(heavy, 1_000, 3, [FULL, SHORT])
    assert (shortened.positions, shortened.details, shortened.tokens) == ((0, 1, 2), (SHORT, SHORT, FULL), 900)


def test_what_is_left_goes_to_the_first_tools_and_to_each_as_far_as_it_reaches() -> None:
    packed = pack(costs((100, 60, 10), (100, 60, 10), (100, 60, 10)), 180, 3, DETAILS)
    assert (packed.details, packed.tokens) == ((FULL, SHORT, SIGNATURE), 170)
    # A tool that costs less in full is said in full.
    assert pack(costs((50, 50, 70)), 100, 1, DETAILS).details == (FULL,)
    assert pack(costs((90, 95, 70)), 80, 1, [FULL, SHORT]).positions == ()


TOOLS = st.lists(st.tuples(*[st.integers(1, 500)] * 3), max_size=30).map(lambda rows: costs(*rows))
ALLOWED = st.sets(st.sampled_from(Detail), min_size=1)


@given(TOOLS, st.integers(1, 2_000), st.integers(1, 10), ALLOWED)
def test_what_is_packed_fits_in_rank_order_and_each_skipped_tool_has_its_reason(
    tools: np.ndarray, budget: int, k: int, allowed: set[Detail]
) -> None:
    packed = pack(tools, budget, k, allowed)
    spent = [int(tools[p, DETAILS.index(d)]) for p, d in zip(packed.positions, packed.details, strict=True)]
    assert sum(spent) == packed.tokens <= budget and len(spent) <= k and set(packed.details) <= allowed
    assert list(packed.positions) == sorted(set(packed.positions))
    seen = min(max(k, *(position + 1 for position in packed.positions), 0), len(tools))
    assert [s.position for s in packed.skipped] == [p for p in range(seen) if p not in packed.positions]
    least = tools[:, [DETAILS.index(detail) for detail in allowed]].min(axis=1)
    for skipped in packed.skipped:
        before = [position for position in packed.positions if position < skipped.position]
        assert least[skipped.position] > budget - least[before].sum()
