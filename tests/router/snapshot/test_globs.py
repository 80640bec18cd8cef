"""Globs match what `fnmatch` matches, in linear time."""

import fnmatch
import time

from hypothesis import example, given
from hypothesis import strategies as st

from router.snapshot.facets import is_glob, matching_names

NAMES = st.lists(st.text("ab-]*[!", max_size=6), unique=True).map(sorted)


@given(st.text("ab*?[]!-", min_size=1, max_size=8), NAMES)
@example("[!]a]*", ["a", "b", "ba"])
@example("[]", ["[]"])
@example("[!]*", ["[!]", "[!]a", "a"])
@example("a*a", ["a", "aa", "aba"])
@example("[*]", ["*", "a"])
@example("*a*b", ["ab", "aab", "abab", "ba"])
def test_a_glob_matches_what_fnmatch_matches(pattern: str, names: list[str]) -> None:
    assert list(matching_names(pattern, names)) == [name for name in names if fnmatch.fnmatchcase(name, pattern)]


def test_a_glob_has_one_of_three_marks() -> None:
    assert [is_glob(pattern) for pattern in ("stripe/*", "get_?", "v[12]", "stripe/refund", "a]")] == [1, 1, 1, 0, 0]


def test_many_stars_take_time_by_their_number_and_not_by_their_power() -> None:
    names = [f"{'a' * 200}{i:05}" for i in range(200)]
    begun = time.process_time()
    assert not list(matching_names("*a" * 100 + "*b", names))
    assert not list(matching_names("*a[ab]" * 60 + "*b", names))
    assert time.process_time() - begun < 2
