"""Find the needs that a request shows without describing a tool: "… and save it to /tmp/report.md".

The patterns are of English; requests in other languages show no need. Every repetition in them is bounded, so that a
long request costs linear time.
"""

import re
from collections.abc import Collection, Mapping
from functools import cache

import msgspec

from router.tools.implicit_needs import ImplicitNeed

_EXTENSIONS = (
    *("txt", "md", "csv", "tsv", "json", "jsonl", "yaml", "yml", "xml", "htm", "html", "log", "doc", "docx", "xls"),
    *("xlsx", "pdf", "ppt", "pptx", "py", "js", "ts", "sql", "toml", "ini", "rtf", "svg", "parquet", "ics"),
)
_FILE = rf"[\"'`“]?(?!https?:)[\w~./\\:-]{{0,200}}\w\.(?:{'|'.join(_EXTENSIONS)})(?![\w.])"
_SAVE = r"(?:save|saving|write|writing|export|store|dump|output|leave)"
_REST = r"(?:(?!\. )[^?!\n]){0,80}?"  # of the same sentence
_KIND = r"(?:(?:an?|the|my|your|this) )?(?:(?:new|text|local|markdown|csv|json|file|called|named) ){0,4}"
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_SPAN = r"(?:minute|hour|day|week|month|quarter|year)s?"
_SOME = r"(?:\d{1,4}|two|three|four|five|six|seven|ten|few|couple of)"
# Where a verb is what the user asks for: "text him" in "please text him", not in "they text him" or "a text".
_ASKED = (
    r"(?:(?<![^\n])|(?<=[.,:;!?–—] )|(?<=\b[Aa]nd )|(?<=\b[Tt]hen )|(?<=\balso )|(?<=\b[Pp]lease )|(?<=\byou )"
    r"|(?<=\byou to )|(?<=\bhelp me )|(?<=\b(?:want|need|like) to )(?<!n't want to )(?<!dont want to ))"
)
_THEM = r"(?:(?i:it|them|me|him|her|everyone|everybody)\b)"
# Case tells names.
_THIRD = r"(?:(?i:the|my|our|your|them|him|her|everyone|everybody)\b|#\w{1,40}|[A-Z][a-z]\w{0,40})"

_PATTERNS: Mapping[ImplicitNeed, str] = {
    ImplicitNeed.WRITE_FILE: (
        rf"\b(?i:(?:{_SAVE}|put|record|keep|note|results?)\b{_REST}\b(?:to|in|into|as|under) {_KIND}{_FILE}"
        rf"|(?:list\b{_REST} into|(?:saved|exported|written|dumped) (?:as|to|into)) {_KIND}{_FILE}"
        rf"|{_SAVE}\b{_REST}\b(?:to|in|into|as) {_KIND}file\b)"
    ),
    ImplicitNeed.CURRENT_TIME: (
        rf"\b(?i:today|tomorrow|yesterday|tonight|so far this"
        rf"|(?:this|next|last|past|coming) (?:week|weekend|month|quarter|year|morning|afternoon|evening|night"
        rf"|{_WEEKDAY})"
        rf"|(?:past|last|next) {_SOME} {_SPAN}|(?:{_SOME}|a few|an?) {_SPAN} (?:ago|from now)|(?:year|month) so far)\b"
    ),
    ImplicitNeed.CURRENT_USER: (
        r"\b(?i:assigned to me|\w{1,30}ed by me|(?:is|are) mine|(?:re)?assign\b[^.,;?!]{0,40}? to (?:me|myself))\b"
    ),
    ImplicitNeed.SEND_MAIL: (
        rf"{_ASKED}(?i:e-?mail|mail) (?:{_THEM}|{_THIRD}|(?i:that|this|these|those|both|all|an?)\b)"
        rf"|{_ASKED}(?<!, )(?i:e-?mail|mail) \w{{1,60}}@"  # "first name Ann, email ann@" is a form
        r"|(?<!ordered )(?<!sorted )(?<!reached me )\b(?i:by|via|as|over) (?i:e-?mail|mail)\b(?! or\b)"
        r"|\b(?i:to my (?:e-?mail|inbox|mailbox))\b"
        rf"|{_ASKED}(?i:send) (?:(?i:an|me an|him an|her an|them an) |[A-Z][a-z]{{1,30}} (?i:an) )(?i:e-?mail)\b"
    ),
    ImplicitNeed.SEND_MESSAGE: (
        rf"{_ASKED}(?:(?i:text|message|ping|dm) {_THEM}|(?i:text|message|ping|dm) (?:[A-Z][a-z]+|the\b)"
        r"|(?i:post (?:it|them|this|the \w{1,40}) (?:to|in|into) [^.;?!]{0,40}?(?:channel|chat|room|#\w)))"
    ),
    ImplicitNeed.SIGN_IN: (
        r"\b(?i:pass ?(?:word|code)s?(?:,? (?:is|are)\b|:? [\"'`]?(?=[^\s\"'`]{0,40}\d))"
        r"|(?:log|sign)(?:ging|ing)? (?:me )?in(?:to| to)?\b"
        r"(?=[^.;?!\n]{0,40}\b(?:account|bank|password|portal|platform)\b))"
    ),
}
# Without one of these a pattern cannot match. Looking for them takes a fraction of its time.
_HEADS: Mapping[ImplicitNeed, tuple[str, ...]] = {
    ImplicitNeed.WRITE_FILE: ("file", *(f".{extension}" for extension in _EXTENSIONS)),
    ImplicitNeed.CURRENT_TIME: (
        *("today", "tomorrow", "yesterday", "tonight", "so far", "ago", "from now"),
        *("this ", "next ", "last ", "past ", "coming "),
    ),
    ImplicitNeed.CURRENT_USER: (" me", "myself", " mine"),
    ImplicitNeed.SEND_MAIL: ("mail",),
    ImplicitNeed.SEND_MESSAGE: ("text", "message", "ping", "dm ", "post"),
    ImplicitNeed.SIGN_IN: ("pass", "log", "sign"),
}
# Says neither by mail nor by message.
_SEND = re.compile(
    r"(?i:(?:(?<=and )|(?<=, )|(?<=then ))send (?:it|them|this)\b)"
    rf"|{_ASKED}(?i:send\b[^.;?!]{{0,60}}? (?:to|with) (?:me\b|my \w|\w{{1,60}}@))"
)
_EITHER = (ImplicitNeed.SEND_MAIL, ImplicitNeed.SEND_MESSAGE)


class ShownNeed(msgspec.Struct, frozen=True):
    """A need that a request shows by `text`, a part of it. A tool for any of `needs` meets it."""

    needs: tuple[ImplicitNeed, ...]
    text: str


def find_implicit_needs(request: str, wanted: Collection[ImplicitNeed] = tuple(ImplicitNeed)) -> tuple[ShownNeed, ...]:
    """Return the needs that a request shows, in the order of `ImplicitNeed`, only those of `wanted`."""
    lower = request.lower()
    shown = [
        ShownNeed((need,), match.group())
        for need, heads in _HEADS.items()
        if need in wanted and any(head in lower for head in heads) and (match := _compiled(need).search(request))
    ]
    either = tuple(need for need in _EITHER if need in wanted)
    if either and "send" in lower and not any(set(one.needs) & set(either) for one in shown):
        shown += [ShownNeed(either, match.group()) for match in [_SEND.search(request)] if match]
    return tuple(shown)


@cache
def _compiled(need: ImplicitNeed) -> re.Pattern[str]:
    """Return the pattern of a need, compiled when a request first has one of its heads: most have none."""
    return re.compile(_PATTERNS[need])
