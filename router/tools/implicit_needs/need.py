"""The needs by name, and how people ask for a tool that meets one."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache

from router.record import ToolRecord
from router.text import terms
from router.tools.text_overlap import identifying_terms

# Part of the content hash of every snapshot: raise it with any change to which tools meet a need.
IMPLICIT_NEEDS_VERSION = 1


class ImplicitNeed(StrEnum):
    """A need that a request shows without describing a tool for it."""

    WRITE_FILE = "write_file"
    CURRENT_TIME = "current_time"
    CURRENT_USER = "current_user"
    SEND_MAIL = "send_mail"
    SEND_MESSAGE = "send_message"
    SIGN_IN = "sign_in"


PHRASES: Mapping[ImplicitNeed, tuple[str, ...]] = {
    ImplicitNeed.WRITE_FILE: (
        "write text to a file at a path",
        "save content to a file",
        "create a new file with this content",
        "write the results into a file on disk",
        "save this as a text file",
    ),
    ImplicitNeed.CURRENT_TIME: (
        "get the current date and time",
        "what time is it now",
        "what is today's date",
        "current time in a timezone",
        "get the current timestamp",
    ),
    ImplicitNeed.CURRENT_USER: (
        "who am I",
        "get the profile of the current user",
        "get my own user details",
        "details of the authenticated user account",
        "which user is signed in",
    ),
    ImplicitNeed.SEND_MAIL: (
        "send an email",
        "send an email to a recipient with a subject and a body",
        "email this to someone",
        "send a mail message",
    ),
    ImplicitNeed.SEND_MESSAGE: (
        "send a message to someone",
        "post a message to a channel",
        "send a direct message to a user",
        "send a chat message to a room",
        "send a text message to a phone number",
        "notify a person",
    ),
    ImplicitNeed.SIGN_IN: (
        "log in with a user name and password",
        "sign in to an account",
        "authenticate with a user name and password",
        "account login",
    ),
}


def meets_in_words(need: ImplicitNeed, record: ToolRecord) -> bool:
    """Return whether a tool's name and first sentence hold all terms of one of a need's phrases.

    It stands in for vectors. The record must be sanitized.
    """
    said = identifying_terms(record)
    return any(phrase <= said for phrase in _phrase_terms(need))


@cache
def _phrase_terms(need: ImplicitNeed) -> tuple[frozenset[str], ...]:
    """Return the terms of each phrase that has at least two: one alone tells too little."""
    return tuple(of_phrase for phrase in PHRASES[need] if len(of_phrase := frozenset(terms(phrase))) > 1)
