"""Clauses: which ask for something, and which tell how things are."""

import pytest

from router.query.intent_detection import expresses_intent, starts_with_intent


@pytest.mark.parametrize("text", ["File a ticket", "please could you also check", "let's see", "then ping Ana"])
def test_a_demand_opens_with_a_verb_after_courtesies(text: str) -> None:
    assert starts_with_intent(text, joined=False)


@pytest.mark.parametrize("text", ["which is late", "I want the blue one"])
def test_after_a_bare_comma_a_question_word_or_a_wish_goes_on_with_the_sentence(text: str) -> None:
    assert starts_with_intent(text, joined=True)
    assert not starts_with_intent(text, joined=False)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("the build is red", False),
        ("my account number is 12345", False),
        ("is the build red?", True),
        ("(could it be the cache?)", True),
        ("we'd really like a refund", True),
        ("somebody has to call them", True),
        ("refund order 7765", True),
    ],
)
def test_a_demand_a_question_and_a_wish_ask_and_a_statement_does_not(text: str, asked: bool) -> None:
    assert expresses_intent(text) is asked
