"""The needs that requests show, and those that only sound like one."""

import pytest

from router.query.implicit_needs import find_implicit_needs
from router.tools.implicit_needs import ImplicitNeed

SHOWN = {
    "look it up and save it to /tmp/report.md": (ImplicitNeed.WRITE_FILE, "save it to /tmp/report.md"),
    "list my playlists into playlists.csv": (ImplicitNeed.WRITE_FILE, "list my playlists into playlists.csv"),
    "put the figures in C:\\finance\\q3.csv": (ImplicitNeed.WRITE_FILE, "put the figures in C:\\finance\\q3.csv"),
    "give me the tasks, saved as tasks.md": (ImplicitNeed.WRITE_FILE, "saved as tasks.md"),
    "what is on my calendar today": (ImplicitNeed.CURRENT_TIME, "today"),
    "prices of the past two weeks": (ImplicitNeed.CURRENT_TIME, "past two weeks"),
    "flights leaving next Friday": (ImplicitNeed.CURRENT_TIME, "next Friday"),
    "assign issue 12 to me": (ImplicitNeed.CURRENT_USER, "assign issue 12 to me"),
    "which of the cards are mine": (ImplicitNeed.CURRENT_USER, "are mine"),
    "the issues that were opened by me": (ImplicitNeed.CURRENT_USER, "opened by me"),
    "find the link and email it to Ann": (ImplicitNeed.SEND_MAIL, "email it"),
    "let my boss know by e-mail": (ImplicitNeed.SEND_MAIL, "by e-mail"),
    "could you mail my boss that I'm late": (ImplicitNeed.SEND_MAIL, "mail my"),
    "look it up and email ann@b.example": (ImplicitNeed.SEND_MAIL, "email ann@"),
    "how much is left? text it to +353 85 012": (ImplicitNeed.SEND_MESSAGE, "text it"),
    "merge it and ping Lea": (ImplicitNeed.SEND_MESSAGE, "ping Lea"),
    "post the news to our Discord channel": (ImplicitNeed.SEND_MESSAGE, "post the news to our Discord channel"),
    "look up the totals and send them to my boss": (ImplicitNeed.SEND_MAIL, "send them"),
    "find the totals; send the list to my boss": (ImplicitNeed.SEND_MAIL, "send the list to my b"),
    "my account is 7, the password is swordfish": (ImplicitNeed.SIGN_IN, "password is"),
    "sign in as a@b.example, password Tulip-9": (ImplicitNeed.SIGN_IN, "password "),
}


@pytest.mark.parametrize("request_", SHOWN)
def test_an_ending_shows_its_need(request_: str) -> None:
    need, text = SHOWN[request_]
    assert (need, text) in [(one.needs[0], one.text) for one in find_implicit_needs(request_)]


NONE = [
    *("how do I save money on energy", "what does /tmp/report.md contain", "convert slides.pptx to another format"),
    *("show what is stored in /projects/README.md", "tell me what the weather is like", "play a song on my own terms"),
    *("I cannot tell the difference", "they'll text me a code", "let me know the price", "I'll add the text myself"),
    *("read my mail about the invoice", "a friend wants to send me a photo", "check these leaked passwords"),
    *("enter it in my work log into the night", "tell the customer below his ticket", "the stop by me"),
    *("add him with email noor@b.example", "first name Ann, email ann@b.example", "list the groups, ordered by email"),
    *("SELECT name, email FROM subscribers", "I don't want to mail him twice", "what did we text everyone about it"),
    "star the repository from my account",
]


@pytest.mark.parametrize("request_", NONE)
def test_words_of_a_need_alone_show_none(request_: str) -> None:
    assert find_implicit_needs(request_) == ()


def test_sending_without_a_medium_is_met_by_a_mail_or_a_message_and_only_wanted_needs_are_sought() -> None:
    request = "find the cheapest flight and send it to me"
    (shown,) = find_implicit_needs(request)
    assert shown.needs == (ImplicitNeed.SEND_MAIL, ImplicitNeed.SEND_MESSAGE)
    (alone,) = find_implicit_needs(request, {ImplicitNeed.SEND_MESSAGE})
    assert alone.needs == (ImplicitNeed.SEND_MESSAGE,)
    save = "save today's news to news.txt"
    assert find_implicit_needs(save, ()) == ()
    assert [one.needs for one in find_implicit_needs(save, {ImplicitNeed.CURRENT_TIME})] == [
        (ImplicitNeed.CURRENT_TIME,)
    ]
