"""One request to an OpenAI-compatible server, and what became of it."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import openai
from openai.types.chat import ChatCompletion, ChatCompletionMessage

from pipeline.enrichment.openai.limits import duration
from pipeline.errors import RunAborted, SettingsInvalid
from pipeline.settings import EnrichmentSettings

_FORMAT_REFUSED = re.compile(r"response_format|json_schema|json_object|structured|guided", re.IGNORECASE)
# What every other request would meet too.
_UNUSABLE = (401, 403, 404)
_UNUSABLE_CODES = {"invalid_api_key", "model_not_found"}


class Fault(Exception):
    """A request that brought no completion.

    `kind` is "timeout", "connection", "rate", "server" or "quota" (which may pass), "refused" (this request is wrong),
    "format" (its response format is) or "unusable" (every request is). `retry_after_s` is the server's word, if it
    gave one; `billed` tells whether the server may have computed an answer, `lost_usd` what that and the tries before
    it may have cost; `headers` are those of the server's answer.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        retry_after_s: float | None = None,
        billed: bool = False,
        lost_usd: float = 0.0,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retry_after_s = retry_after_s
        self.billed = billed
        self.lost_usd = lost_usd
        self.headers = headers or {}


@dataclass(frozen=True, slots=True)
class Completion:
    """What the server answered: the message's text or its refusal, why it ended, tokens, the response's headers."""

    content: object
    refusal: str | None
    finish_reason: str | None
    prompt_tokens: int | None
    cached_tokens: int
    completion_tokens: int | None
    headers: Mapping[str, str]


def connection(settings: EnrichmentSettings) -> dict[str, Any]:
    """Arguments of OpenAI's clients. No retries of their own: the limits must hear of each refusal.

    Raises SettingsInvalid on a key that cannot be sent.
    """
    # Local servers need no key, yet the client refuses to start without one.
    key = (settings.api_key.get_secret_value().strip() if settings.api_key else "") or "local"
    if not (key.isascii() and key.isprintable()):
        # The HTTP client would refuse the header too, and put the key into its message.
        raise SettingsInvalid("enrichment.api_key (OPENAI_API_KEY) holds a character that an HTTP header cannot carry")
    return {"api_key": key, "base_url": settings.base_url, "timeout": settings.timeout_s, "max_retries": 0}


def address(client: openai.OpenAI | openai.AsyncOpenAI) -> str:
    """The server, without what may be a secret: messages are stored, logged and published."""
    return re.sub(r"//[^/@]*@", "//", str(client.base_url))


async def complete(client: openai.AsyncOpenAI, body: Mapping[str, Any], timeout_s: float) -> Completion:
    """Send one chat request. `body` is the JSON of the request. Raises Fault, or ValueError where a 200 is no JSON."""
    try:
        # The client's own time-out is for each read: an answer that drips would never end.
        async with asyncio.timeout(timeout_s):
            # All as it stands: of an argument that OpenAI itself does not take (top_k, min_p) the client raises
            # TypeError, and it walks the others key by key, which takes a third of a request's time on this side.
            response = await client.chat.completions.with_raw_response.create(
                model=body["model"], messages=(), extra_body=dict(body)
            )
        return read_completion(response.parse(), response.headers)
    except TimeoutError as error:
        raise Fault("timeout", f"no answer within {timeout_s:g} s", billed=True) from error
    except openai.APIError as error:
        raise fault(error, timeout_s) from error


def fault(error: openai.APIError, timeout_s: float) -> Fault:
    """What an error of the client means for the request and for the rest."""
    message = str(error)
    if isinstance(error, openai.APITimeoutError):
        return Fault("timeout", f"no answer within {timeout_s:g} s", billed=True)
    if isinstance(error, openai.APIConnectionError):
        return Fault("connection", str(error.__cause__ or error), billed=True)
    if not isinstance(error, openai.APIStatusError):
        return Fault("server", message)
    found = kind(error.status_code, error.code, message)
    return Fault(found, message, retry_after(error.response.headers), headers=error.response.headers)


def kind(status: int, code: object, message: str) -> str:
    """What an HTTP status that is no success means: a kind of Fault."""
    if status == 429:
        return "quota" if code == "insufficient_quota" else "rate"
    if status in _UNUSABLE or code in _UNUSABLE_CODES:
        return "unusable"
    if status in (400, 422):
        return "format" if _FORMAT_REFUSED.search(message) else "refused"
    return "server" if status >= 500 or status in (408, 409) else "refused"


def unusable(model: str, client: openai.OpenAI | openai.AsyncOpenAI, message: str) -> RunAborted:
    """What every request would meet, with the way out."""
    return RunAborted(
        f"the model {model!r} at {address(client)} cannot be used: {message.rstrip('.')}. "
        "Check OPENAI_API_KEY, its quota and enrichment.model, or build with --generator lexicon"
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date."""
    milliseconds = duration(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1_000
    text = headers.get("retry-after")
    seconds = duration(text)
    if seconds is not None or not text:
        return seconds
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def read_completion(completion: Any, headers: Mapping[str, str]) -> Completion:
    """A completion as the client read it. The client checks no answer: what a compatible server says with a 200 may be
    an error or HTML. Raises ValueError where it holds no message."""
    choices = getattr(completion, "choices", None)
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = getattr(choice, "message", None)
    if not isinstance(message, ChatCompletionMessage):
        shown = completion.to_dict() if isinstance(completion, ChatCompletion) else completion
        raise ValueError(f"the server's answer holds no message: {str(shown)[:200]}")
    usage = getattr(completion, "usage", None)
    prompt, completed = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    counted = isinstance(prompt, int) and isinstance(completed, int)
    details = getattr(usage, "prompt_tokens_details", None)
    return Completion(
        content=message.content,
        refusal=str(message.refusal) if message.refusal else None,
        finish_reason=getattr(choice, "finish_reason", None),
        prompt_tokens=prompt if counted else None,
        cached_tokens=(getattr(details, "cached_tokens", None) or 0) if counted else 0,
        completion_tokens=completed if counted else None,
        headers=headers,
    )
