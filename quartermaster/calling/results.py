"""Tell a model what a server answered: bounded, without secrets, errors as errors."""

import json
import re
from dataclasses import dataclass
from http.client import responses
from typing import Any

from quartermaster.calling.auth import masked
from quartermaster.calling.requests import HttpRequest
from quartermaster.calling.sending import HttpAnswer

_MAX_ERROR = 2_000  # characters of the body of an error
_MAX_KIND = 100
_TEXTS = (
    "text/",
    *("application/xml", "application/yaml", "application/x-yaml", "application/javascript"),
    "application/x-www-form-urlencoded",
)
# Charsets of the web. Python knows other codecs: "punycode" takes minutes for a megabyte.
_CHARSET = re.compile(
    r"(us-)?ascii|utf-?(8|16|32)(-?[lb]e)?|latin-?1|iso-?8859-\d+|(windows-|cp)\d+|koi8-[ru]|mac-?\w+|"
    r"big5|gbk|gb2312|gb18030|euc-?(jp|kr)|shift[-_]jis|iso-2022-jp",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a call gave.

    Attributes:
        text: What a model reads: the body, the error, or the request of a dry run.
        is_error: Whether the server answered with an error, or with a redirect that was not followed.
        status: The HTTP status; None for a dry run.
        media_type: The media type of the body.
        value: The body as JSON; None where it is none, or was cut.
        mended: What was done to arguments that did not fit the tool's schema; empty where they did.
        rest: What was cut from the end of a long body; `text` says that it was.
    """

    text: str
    is_error: bool = False
    status: int | None = None
    media_type: str = ""
    value: Any = None
    mended: str = ""
    rest: str = ""


def result_of(answer: HttpAnswer, secrets: list[str], max_characters: int) -> CallResult:
    """Return what a model reads of an answer."""
    is_error = not 200 <= answer.status < 300
    kind, status = answer.media_type[:_MAX_KIND], f"HTTP {answer.status} {responses.get(answer.status, '')}".rstrip()
    text, value, rest = _text(answer), None, ""
    if text is None:
        told = f"{status}: {len(answer.body):,} bytes of {kind or 'no declared type'}, which are not text"
    elif is_error:
        location = masked(answer.headers.get("location", ""), secrets)[:_MAX_ERROR]
        where = f" (to {location}, not followed)" if 300 <= answer.status < 400 and location else ""
        body, most = masked(text, secrets), min(_MAX_ERROR, max_characters)
        body = body if len(body) <= most else f"{body[:most]}…"
        told = f"{status}{where}{': ' if body else ''}{body}"
    elif len(text := masked(text, secrets)) > max_characters:
        rest = text[max_characters:]
        told = (
            f"The answer has {len(text):,} characters; the first {max_characters:,} follow. Ask for less, such as a "
            f"smaller page.\n{text[:max_characters]}"
        )
    else:
        told, value = text or status, _json(text, kind)
    return CallResult(told, is_error, answer.status, kind, value, rest=rest)


def preview_of(request: HttpRequest) -> CallResult:
    """Return the result of a dry run: the request that would be sent. It must hold no secret."""
    headers = request.all_headers
    row = {"dry_run": "nothing was sent", "method": request.method, "url": request.full_url, "headers": headers}
    if request.body:
        text = request.body.decode("utf-8", "replace")
        body = _json(text, headers.get("Content-Type", ""))
        row["body"] = text if body is None else body
    return CallResult(json.dumps(row, ensure_ascii=False, indent=2), value=row)


def _text(answer: HttpAnswer) -> str | None:
    """Return a body as text; None where it is binary."""
    kind = answer.media_type
    if kind and not kind.startswith(_TEXTS) and not kind.endswith(("json", "+xml")):
        return None if answer.body else ""
    charset = "utf-8"
    for part in answer.headers.get("content-type", "").split(";")[1:]:
        name, _, value = part.strip().partition("=")
        if name.lower() == "charset" and _CHARSET.fullmatch(value.strip(" \"'")):
            charset = value.strip(" \"'")
    try:
        text = answer.body.decode(charset, "replace")
    except LookupError:
        text = answer.body.decode("utf-8", "replace")
    return None if "\x00" in text else text


def _json(text: str, kind: str) -> Any:
    if not kind.endswith("json"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
