"""What a record's own name and first sentence say is never taken for speech about another tool."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.phrase_checks.screen import Screen
from router.tools.naming import everyday_words
from tests.support.factories import make_expansion, make_record

# Providers whose names are ordinary words, and a tool whose name is an identifier.
OTHERS = tuple(
    make_record(f"use_{word}", word.title(), description=f"Uses {word.title()}.") for word in ("spam", "page")
)
# Checks of what a text is, not of whom it speaks.
OF_TEXT = {"instruction", "promotion", "markup", "link", "repeat", "length", "hidden", "echo", "script", "steered"}
WORDS = st.sampled_from(
    "scan spam report scam block fraud malware virus is are a the where delete cancel pay buy useless broken links "
    "list Spam Page use_page kill process slow hacked compromised Stripe steals your data which".split()
)


@pytest.mark.parametrize(
    "name",
    "search_malware scan_spam report_scam block_fraud find_broken_links list_compromised_accounts kill_process".split(),
)
def test_of_a_tool_that_deals_with_bad_things_no_request_in_its_own_words_is_dropped(name: str) -> None:
    record = make_record(name, "acme", description="")
    requests = everyday_words(record).requests
    kept, verdicts = Screen((record, *OTHERS))(record, make_expansion(*requests, when_to_use=""))
    assert {verdict.check for verdict in verdicts} <= {"repeat"} and kept.user_phrases[0] == requests[0]


@pytest.mark.parametrize(
    "phrase",
    [
        "where is malware",
        "is this email a scam",
        "which URLs are broken",
        "replace all servers",
        "this is a scam",
    ],
)
def test_a_question_about_bad_things_is_no_ill_report(phrase: str) -> None:
    record = make_record("check", "acme", description="Checks things.")
    assert Screen((record, *OTHERS))(record, make_expansion(phrase, when_to_use=""))[1] == ()


@given(st.lists(WORDS, min_size=1, max_size=4), st.lists(WORDS, max_size=6), st.data())
def test_a_phrase_of_own_words_is_dropped_for_what_it_is_and_not_for_whom_it_speaks_of(
    name: list[str], sentence: list[str], data: st.DataObject
) -> None:
    record = make_record("_".join(name), "acme", description=" ".join(sentence).capitalize() + ". Stripe is a scam.")
    phrase = " ".join(data.draw(st.lists(st.sampled_from(name), min_size=1, max_size=6)))
    _, verdicts = Screen((record, *OTHERS))(record, make_expansion(phrase, when_to_use=""))
    assert {verdict.check for verdict in verdicts} <= OF_TEXT
