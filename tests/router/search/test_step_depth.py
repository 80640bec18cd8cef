"""How many tools the lists of a step hold."""

import pytest

from router.search.search import step_depth


@pytest.mark.parametrize(
    ("depth", "expected"), [(100, 30), (101, 31), (1_000, 300), (60, 30), (30, 30), (7, 7), (1, 1)]
)
def test_a_step_has_three_tenths_of_a_list_thirty_at_least_and_never_more_than_the_request(
    depth: int, expected: int
) -> None:
    assert step_depth(depth) == expected
