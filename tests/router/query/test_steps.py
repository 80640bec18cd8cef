"""Requests to steps: where they are cut, where they are not, and what a long one keeps."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.query.steps import Steps, find_steps

# Each step stands in braces.
SEVERAL = [
    "{Pull failed payments from Stripe}, {file a ticket in Linear}, and {notify the channel in Slack}",
    "{merge the open pull request} then {tell the design team}",
    "{Which flights leave for Lima tomorrow?} {Also, what is the weather forecast for Sunday?}",
    "{Show the total revenue of March} and {how many customers left since}",
    "{the nightly import broke} -- {find the failing run}, {restart the import job}",
    "1. {list the overdue invoices}\n2. {draft a friendly reminder}",
    "{Ask Dr. No for the lab report.} {Then archive the old case file.}",
    "{create the note 'buy milk, call Ana. Then rest'} and {mail the note to Bob}",
    '"{Find a cheap hotel in Rome}, and {book a table for two people}"',
    "{Lösche die alte Rechnung.} {Schick dem Kunden eine neue.}",
    "{请删除旧的文件。}{然后发送邮件给王先生。}",
]
ONE = [
    *("refund", "list the open tickets", "search for red, green and blue lamps", "compare cats and dogs"),
    "find a hotel in Rome, which is close to the station",
    "book a flight from Oslo to Rome on 3 May at 9 a.m. for J. Smith",
    "write 'close the door, open the window. Then leave' to notes.txt",
    "find the file and delete it",
    "Hello! Can you help me? I need all invoices of 2023.",
    "show C:/reports/may, june and july.txt",
    *("", " \n ", "…"),
]

INTENTS = "Pull the failed payments of May. File a ticket for each customer. Book a room for the meeting."
LOG = "\n".join(
    f"2024-03-1{day} 01:11:21,107 ERROR [http-nio-8080-exec-4] c.a.web.Handler - failed, code={day}" for day in range(9)
)
# Over 150 words.
MAIL = (
    "Hi team, hope you all had a good weekend. "
    + "The migration of the old warehouse is two thirds done. Two of the interns are leaving us in August. "
    "The customer in Lyon was happy with the workshop. There were some complaints about the parking situation. "
    * 6
    + "Kind regards, Helen"
)


@pytest.mark.parametrize("marked", SEVERAL)
def test_a_request_is_cut_where_a_new_demand_opens(marked: str) -> None:
    found = find_steps(marked.replace("{", "").replace("}", ""))
    assert list(found.texts) == re.findall(r"\{(.*?)\}", marked)


@pytest.mark.parametrize("request_text", ONE)
def test_a_request_of_one_step_has_no_steps(request_text: str) -> None:
    assert find_steps(request_text) == Steps()


def test_a_piece_that_says_too_little_stays_with_the_one_before() -> None:
    found = find_steps("find the latest sales report, copy it, and send a summary of sales to Ana")
    assert found.texts == ("find the latest sales report copy it", "send a summary of sales to Ana")


@pytest.mark.parametrize(
    ("request_text", "weights"),
    [
        ("The espresso machine costs 349 euros. Put the machine into the shop.", (0.7, 1.0)),
        ("Is the espresso machine cheap? Somebody has to put it into the shop.", (1.0, 1.0)),
        ("Lösche die alte Rechnung. Schick dem Kunden eine neue.", (1.0, 1.0)),  # nothing that is known to ask
        (f"{INTENTS} The Henderson deal counts as won now.", (1.0, 1.0, 1.0, 0.7)),
        (f"{INTENTS} Email the whole sales team. The Henderson deal counts as won now.", (1.0,) * 5),
    ],
)
def test_what_is_told_weighs_less_than_what_is_asked_unless_much_is(
    request_text: str, weights: tuple[float, ...]
) -> None:
    assert find_steps(request_text).weights == weights


def test_of_a_long_request_its_ends_and_what_it_asks_are_kept() -> None:
    asked = "create a bug ticket for this"
    for request in (f"{LOG}\n{asked}", f"{asked}\n{LOG}"):
        found = find_steps(request)
        assert found.texts == (asked,) and found.share < 0.2
    mail = find_steps(f"{MAIL}\n\nPlease put the renewal of both accounts into the CRM")
    assert mail.texts[-1] == "Please put the renewal of both accounts into the CRM"
    assert len(mail) <= 3 and mail.share < 0.3
    told = " ".join(["The old warehouse in Lyon was very cold."] * 30)
    found = find_steps(f"{told} Our new machine costs 349 euros")
    assert found.texts == ("The old warehouse in Lyon was very cold.", "Our new machine costs 349 euros")


def test_there_are_never_more_than_eight_steps() -> None:
    request_text = ". ".join(f"Send the monthly report number {word}" for word in "abcdefghijklmnop")
    found = find_steps(request_text)
    assert len(found) == 8
    assert found.texts[0].endswith("a.") and found.texts[-1].endswith("p")
    assert found.share == pytest.approx(0.5)


@given(st.text(alphabet="ab ,.;:!?'\"\n-–→“”。and filetk9", max_size=400))
def test_any_text_gives_steps_of_its_own_words(text: str) -> None:
    found = find_steps(text)
    assert len(found.texts) == len(found.weights) <= 8
    assert 0 <= found.share <= 1
    for step in found.texts:
        assert step.strip()
        assert all(word in text for word in step.split())
