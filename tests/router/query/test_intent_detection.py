"""Clauses: which ask for something, and which tell how things are."""

import pytest

from router.query.intent_detection import expresses_intent, starts_with_intent


@pytest.mark.parametrize(
    ("text", "alone", "joined"),
    [
        *(
            (text, True, True)
            for text in ("File a ticket", "please could you also check", "let's see", "then ping Ana")
        ),
        # After a bare comma they go on with the sentence.
        *((text, False, True) for text in ("which is late", "I want the blue one")),
    ],
)
def test_a_demand_opens_with_a_verb_and_after_and_with_a_question_or_a_wish(
    text: str, alone: bool, joined: bool
) -> None:
    assert (starts_with_intent(text, joined=False), starts_with_intent(text, joined=True)) == (alone, joined)


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
