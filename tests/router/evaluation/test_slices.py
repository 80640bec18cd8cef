"""Sorts of requests."""

import pytest

from router.evaluation.slices import length, names, slices
from tests.router.evaluation.judging import judged


@pytest.mark.parametrize(
    ("request_", "provider", "named"),
    [
        ("undo it in Stripe", "stripe", True),
        ("list the pull requests on GitHub", "github", True),
        ("list the pull requests on github", "GitHub", True),
        ("move it in my Google calendar", "google-calendar", True),
        ("move it in my calendar", "google-calendar", False),
        ("what can I do", "to-do", False),  # stop-words say nothing
        ("undo it", "stripe", False),
    ],
)
def test_a_provider_is_named_by_all_of_its_words(request_: str, provider: str, named: bool) -> None:
    assert names(request_, provider) is named


@pytest.mark.parametrize(
    ("words", "name"),
    [(1, "1-4 words"), (4, "1-4 words"), (5, "5-15 words"), (16, "16-40 words"), (41, "over 40 words")],
)
def test_length_is_counted_in_words(words: int, name: str) -> None:
    assert length(" ".join(["charge"] * words)) == name


def test_a_request_without_spaces_is_as_long_as_the_index_reads_it() -> None:
    assert length("顧客に全額を返金してください") == "5-15 words"


def test_requests_are_sorted_by_kind_provider_and_length() -> None:
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


def test_without_providers_requests_are_not_sorted_by_them() -> None:
    assert "provider" not in slices([judged("a")], lambda tool_id: None)
