"""Sorts of requests."""

import pytest

from router.evaluation.slices import length, names, slices
from tests.router.evaluation.judging import judged


@pytest.mark.parametrize(
    ("request_", "provider", "named"),
    [
        ("undo it in Stripe", "stripe", True),
        ("list the pull requests on github", "GitHub", True),
        ("move it in my Google calendar", "google-calendar", True),
        ("move it in my calendar", "google-calendar", False),
        ("what can I do", "to-do", False),  # stop-words say nothing
    ],
)
def test_a_provider_is_named_by_all_of_its_words(request_: str, provider: str, named: bool) -> None:
    assert names(request_, provider) is named


def test_requests_are_sorted_by_kind_provider_and_length_in_words_as_the_index_reads_them() -> None:
    assert [length("charge " * words) for words in (4, 5, 16, 41)] == [
        *("1-4 words", "5-15 words", "16-40 words", "over 40 words")
    ]
    assert length("顧客に全額を返金してください") == "5-15 words"
    asked = [
        judged("ab", kind="multi", request="ask pay to give it all back to everybody today"),
        judged("a", request="give it back"),
        judged("", kind="none", request="sing"),
    ]
    assert slices(asked, {"a": "pay", "b": None}.get) == {
        "kind": {"single": [1], "multi": [0], "none": [2]},
        "provider": {"named": [0], "not named": [1]},
        "length": {"1-4 words": [1, 2], "5-15 words": [0]},
    }
    assert "provider" not in slices([judged("a")], lambda tool_id: None)
