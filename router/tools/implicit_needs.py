"""Implicit needs: what a request takes beside the tools that it describes, such as writing "to report.md"."""

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache

from router.record import Kind, ToolRecord
from router.text import identifier_words, terms
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
    need: tuple(phrases.split("; "))
    for need, phrases in {
        ImplicitNeed.WRITE_FILE: "write text to a file at a path; save content to a file; create a new file with this "
        "content; write the results into a file on disk; save this as a text file",
        ImplicitNeed.CURRENT_TIME: "get the current date and time; what time is it now; what is today's date; current "
        "time in a timezone; get the current timestamp",
        ImplicitNeed.CURRENT_USER: "who am I; get the profile of the current user; get my own user details; details of "
        "the authenticated user account; which user is signed in",
        ImplicitNeed.SEND_MAIL: "send an email; send an email to a recipient with a subject and a body; email this to "
        "someone; send a mail message",
        ImplicitNeed.SEND_MESSAGE: "send a message to someone; post a message to a channel; send a direct message to a "
        "user; send a chat message to a room; send a text message to a phone number; notify a person",
        ImplicitNeed.SIGN_IN: "log in with a user name and password; sign in to an account; authenticate with a user "
        "name and password; account login",
    }.items()
}


def meets_in_words(need: ImplicitNeed, record: ToolRecord) -> bool:
    """Return whether a tool's name and first sentence hold all terms of one of a need's phrases.

    It stands in for vectors. The record must be sanitized.
    """
    said = identifying_terms(record)
    return any(phrase <= said for phrase in _phrase_terms(need))


@cache
def _phrase_terms(need: ImplicitNeed) -> tuple[frozenset[str], ...]:
    """Return the terms of each phrase that has at least two: a single one says too little."""
    return tuple(of_phrase for phrase in PHRASES[need] if len(of_phrase := frozenset(terms(phrase))) > 1)


_CONTENT = frozenset("content contents text data body".split())
_NO_CONTENT = frozenset("type id check url append".split())
_PLACE = frozenset("path file filename filepath".split())
_CHANGE = frozenset("old original expected required delete".split())
_TIME_ZONE = frozenset("timezone zone tz format locale location city country language lang".split())
_SELF = frozenset("fields include expand format language verbose".split())
_ADDRESSEE = frozenset(
    "to recipient recipients channel room chat user users email emails phone number address contact target name "
    "receiver conversation member".split()
)
_MESSAGE = frozenset("message text body content subject markdown html raw".split())
_NO_MESSAGE = frozenset("id ids type before after since count limit max".split())
_SECRET = frozenset("password passphrase passwd pwd credential credentials".split())
_NO_SIGN_IN = frozenset("new old confirm create amount".split())
_DATE = frozenset("date dates datetime".split())
_DATE_FORMAT = re.compile(r"\b(?:YYYY|ISO[ -]?8601|RFC ?3339)\b", re.IGNORECASE)


def fits_schema(need: ImplicitNeed, record: ToolRecord) -> bool:
    """Return whether a tool's parameters are those of a tool that meets a need. No skill and no prompt meets one."""
    if record.kind is not Kind.TOOL:
        return False
    top = [parameter for parameter in record.parameters if not set(".[") & set(parameter.path)]
    words = {parameter.path: frozenset(identifier_words(parameter.path)) for parameter in top}
    required = {parameter.path for parameter in top if parameter.required}
    match need:
        case ImplicitNeed.WRITE_FILE:
            content = _paths(words, _CONTENT, _NO_CONTENT)
            places = _paths(words, _PLACE, _CONTENT) | (words.keys() & {"name", "key"})
            changes = any(of & _CHANGE for of in words.values())
            return bool(content and places) and not changes and required <= content | places
        case ImplicitNeed.CURRENT_TIME:
            return all(of & _TIME_ZONE and "to" not in of for of in words.values())
        case ImplicitNeed.CURRENT_USER:
            return not required and all(of & _SELF for of in words.values())
        case ImplicitNeed.SEND_MAIL | ImplicitNeed.SEND_MESSAGE:
            message = _paths(words, _MESSAGE, _NO_MESSAGE)
            to = _paths(words, _ADDRESSEE) - message
            return bool(message and to) and required <= message | to
        case ImplicitNeed.SIGN_IN:
            return any(of & _SECRET for of in words.values()) and not any(of & _NO_SIGN_IN for of in words.values())


def _paths(words: Mapping[str, frozenset[str]], some: frozenset[str], none: frozenset[str] = frozenset()) -> set[str]:
    """Return the paths of the parameters that have some words and none of others."""
    return {path for path, of in words.items() if of & some and not of & none}


def requires_date(record: ToolRecord) -> bool:
    """Return whether a call of a tool must give a date or a point in time."""
    return any(
        parameter.required
        and (_DATE & frozenset(identifier_words(parameter.path)) or _DATE_FORMAT.search(parameter.description))
        for parameter in record.parameters
    )
