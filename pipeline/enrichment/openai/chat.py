"""One chat request to an OpenAI-compatible server: its completion, or the fault that it met."""

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Annotated, Any

import httpx
import msgspec
import openai

from pipeline.enrichment.generator import TokenUsage
from pipeline.errors import RunAborted, SettingsInvalid
from pipeline.settings import EnrichmentSettings

# Kinds of fault that may pass.
TRANSIENT = frozenset({"timeout", "connection", "rate", "server"})
# Kinds of fault that every other request would meet too.
ABORTING = frozenset({"unusable", "quota"})
_FORMAT_REFUSED = re.compile(r"response_format|json_schema|json_object|structured|guided", re.IGNORECASE)


@dataclass(eq=False)
class Fault(Exception):
    """A request that brought no completion.

    `kind` is one of TRANSIENT or of ABORTING, "refused" (this request is wrong) or "format" (the server does not
    support its response format). `retry_after_s` is the wait that the server asks for. `billed` says whether the server
    may have computed an answer.
    """

    kind: str
    message: str
    retry_after_s: float | None = None
    billed: bool = False

    @property
    def failure_kind(self) -> str:
        """The kind of the failure of a question that this fault ends."""
        return "refused" if self.kind == "format" else self.kind


@dataclass(frozen=True, slots=True)
class Completion:
    """A server's answer: the message's text or its refusal, why it ended, the tokens, the response's headers.

    `usage` is None where the server did not count; it has no cost yet.
    """

    content: object
    refusal: str | None = None
    finish_reason: object = "stop"
    usage: TokenUsage | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class _CachedTokens(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int
    prompt_tokens_details: _CachedTokens | None = None


class _Message(msgspec.Struct):
    content: Any = None
    refusal: Any = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: Any = None


class _Body(msgspec.Struct):
    choices: Annotated[list[_Choice], msgspec.Meta(min_length=1)]
    usage: Any = None


def connection(settings: EnrichmentSettings) -> dict[str, Any]:
    """Return the arguments of OpenAI's clients. Raises SettingsInvalid on a key that cannot be sent."""
    # Local servers need no key, yet the client refuses to start without one.
    key = (settings.api_key.get_secret_value().strip() if settings.api_key else "") or "local"
    if not (key.isascii() and key.isprintable()):
        # The HTTP client would refuse the header too, and put the key into its message.
        raise SettingsInvalid("enrichment.api_key (OPENAI_API_KEY) holds a character that an HTTP header cannot carry")
    return {"api_key": key, "base_url": settings.base_url, "timeout": settings.timeout_s}


def address(client: openai.OpenAI | openai.AsyncOpenAI) -> str:
    """Return the server's address without user and password: messages are stored, logged and published."""
    return re.sub(r"//[^/@]*@", "//", str(client.base_url))


def unusable(model: str, client: openai.OpenAI | openai.AsyncOpenAI, message: str) -> RunAborted:
    """Return the error for a fault that every request would meet, with the way out."""
    return RunAborted(
        f"the model {model!r} at {address(client)} cannot be used: {message.rstrip('.')}. "
        "Check OPENAI_API_KEY, its quota and enrichment.model, or build with --generator none"
    )


async def complete(client: openai.AsyncOpenAI, body: Mapping[str, Any], timeout_s: float) -> Completion:
    """Send one chat request, whose JSON is `body`. Raises Fault, or ValueError where a 200 holds no completion."""
    try:
        # The client's own time-out is for each read: an answer that drips would never end.
        async with asyncio.timeout(timeout_s):
            # As it is: the client's method for completions takes OpenAI's own parameters only (no top_k, no min_p).
            response = await client.post("/chat/completions", cast_to=httpx.Response, body=body)
    except TimeoutError as error:
        raise Fault("timeout", f"no answer within {timeout_s:g} s", billed=True) from error
    except openai.APIError as error:
        raise fault_of(error, timeout_s) from error
    return read_completion(response.content, response.headers)


def read_completion(body: object, headers: Mapping[str, str] | None = None) -> Completion:
    """Return the completion in a response's body: bytes, or JSON that was decoded.

    Raises ValueError where it holds no message: a compatible server may send an error or HTML with a 200.
    """
    try:  # the standard library's JSON: it reads halves of surrogate pairs, as servers send them
        read = msgspec.convert(json.loads(body) if isinstance(body, bytes) else body, _Body)
    except (ValueError, RecursionError) as error:
        shown = body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body)
        raise ValueError(f"the server's answer holds no message: {shown.strip()[:200]}") from error
    message = read.choices[0].message
    try:
        counted = msgspec.convert(read.usage, _Usage)
    except msgspec.ValidationError:
        usage = None
    else:
        cached = counted.prompt_tokens_details and counted.prompt_tokens_details.cached_tokens
        usage = TokenUsage(counted.prompt_tokens, cached or 0, counted.completion_tokens, None)
    refusal = str(message.refusal) if message.refusal else None
    return Completion(message.content, refusal, read.choices[0].finish_reason, usage, headers or {})


def fault_of(error: openai.APIError, timeout_s: float) -> Fault:
    """Return the fault that an error of the client stands for. `timeout_s` is the time that the request was given."""
    if isinstance(error, openai.APITimeoutError):
        return Fault("timeout", f"no answer within {timeout_s:g} s", billed=True)
    if isinstance(error, openai.APIConnectionError):
        return Fault("connection", str(error.__cause__ or error), billed=True)
    if not isinstance(error, openai.APIStatusError):
        return Fault("server", str(error))
    kind = fault_kind(error.status_code, error.code, str(error))
    return Fault(kind, str(error), retry_after(error.response.headers))


def fault_kind(status: int, code: object, message: str) -> str:
    """Return the kind of fault of an HTTP error's status, with the code and message of its body."""
    if status == 429:
        return "quota" if code == "insufficient_quota" else "rate"
    if status in (401, 403, 404) or code in ("invalid_api_key", "model_not_found"):
        return "unusable"
    if status in (400, 422):
        return "format" if _FORMAT_REFUSED.search(message) else "refused"
    return "server" if status >= 500 or status in (408, 409) else "refused"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date."""
    milliseconds, text = amount(headers.get("retry-after-ms")), headers.get("retry-after")
    if milliseconds is not None:
        return milliseconds / 1_000
    if (seconds := amount(text)) is not None or not text:
        return seconds
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def amount(text: str | None) -> float | None:
    """Return a header's number that is finite and not negative; None for anything else."""
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value < float("inf") else None
